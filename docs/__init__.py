"""Pages, and the builder that makes a site of them (``docs.site``)."""
