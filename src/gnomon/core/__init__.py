"""The vocabulary of the house: values that every other room speaks in.

Nothing here reads a user's file, starts work or knows a suite. Modules:

``errors``     one root, few children
``canonical``  canonical JSON and fingerprints
``seeds``      one random stream per purpose
``signals``    what a system is given credit for: labels, intervals, boxes, ...
``cases``      case, corpus: the units that are scored
``samples``    what a split is made of, for leak checks
``heap``       memory that arrays give back
``tallies``    labelled, additive summaries of cases
``ledgers``    rows that concatenate, for what is not additive
``measure``    what turns tallies into scores
``protocol``   a declared evaluation, as a value
``table``      a table and a view, as plain data
``evidence``   findings and claims
``options``    option structs from which command line and Python arguments are built
``suite``      what a suite offers
``registry``   suites and measures found through entry points
"""
