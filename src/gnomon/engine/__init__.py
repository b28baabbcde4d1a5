"""Work that survives: plans of artefacts and cells, stored by content, done once, resumed after anything.

``plan``       what is to be done: nodes with keys that hash everything their result depends on
``store``      where results are: one sealed folder per key, published by rename, built once under a lock
``work``       what one worker does with one node
``executors``  inline, processes that may die without taking the rest down, or a cluster
``workers``    one such process, as its owner sees it and from inside
``cluster``    the same processes on machines that Dask reaches
``scoring``    chunks of truth and predictions are tallied, and put together into evaluations
``planner``    the nodes of a run: what a suite declares, with what all of them have
``progress``   what a person, a log and a dashboard see of it
``begun``      what a node keeps of work that it has not ended, and what it tells from inside
``job``        plan, executor and store put together; what is missing, and why
``simulated``  the mark of data that were simulated, and what of them is not finished
``torches``    torch as models use it: its threads, its device, its random numbers
"""
