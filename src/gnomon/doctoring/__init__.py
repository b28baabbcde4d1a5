"""What is installed, what is missing for which feature, and how to get it: learnt from metadata, without loading it.

``examination`` puts it together, ``packages`` reads what distributions say of themselves, ``surroundings`` looks at the
machine, at programs and at variables of the environment.
"""
