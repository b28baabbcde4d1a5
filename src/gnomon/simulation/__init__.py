"""What simulators of several suites share: solids and rays, the jointed body, walking, and smooth functions of time."""
