"""Neural models of ``har`` (torch, extra ``models``).

One file per model, with the class that the suite calls; it can be imported without torch, so that a model can be listed
and described anywhere. Networks are containers of layers (:class:`torch.nn.ModuleDict`) that plain functions run, made
when they are first needed. :mod:`~gnomon.suites.har.systems.neural.training` has the loop that all of them share.
"""
