"""The site: pages of this folder and references made from the code, as files that a browser opens without a server.

Everything is made in memory first, as a mapping from addresses to bytes, looked over and then written; the same tree
gives the same bytes.

``markdown``    a Markdown page as markup, with the words that a search finds
``sources``     which pages there are and in which order: what ``docs/index.md`` says
``places``      where links between pages, pictures and files of the repository lead
``code``        code blocks, coloured
``docstrings``  a docstring in the numpy convention as markup
``commands``    every verb and every option, as data and as pages
``names``       which names are public, and what is said of them
``api``         pages of public names
``registered``  pages of measures and checks
``told``        a measure in a sentence
``notebooks``   a notebook as a page, with the output that it holds
``frame``       head, navigation and foot of every page
``finding``     the index of the search
``checking``    what is wrong with a site: links, anchors, ids, pictures, requests
``making``      all of it together
"""
