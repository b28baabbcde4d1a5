"""What is behind ``gnomon simulate episode``: a person who works in a kitchen with cameras on the head.

A script of sub-tasks and actions (:mod:`~gnomon.suites.episode.simulation.script`) says what the hands, the eyes and
the feet want (``acting``, ``route``); a jointed body does it (``posing``, ``body``); the headset rides on the head
(``rig``). Everything else follows from that one motion: poses, inertial samples, hands in the camera's frame and
contacts (``sensing``), depth and videos by rays against the same room, things and body (``scene``,
``picturing``, ``filming``), sound (``sound``) and captions (``captioning``). What drops out in real recordings drops
out here (``gaps``).

Where the figures come from: segment lengths after Drillis and Contini (1966), hands after Buryanov and Kotiuk (2010),
moves of least jerk after Flash and Hogan (1985), lenses after Kannala and Brandt (2006). Layout, types, rates,
coordinate frames and the habits of captions follow the published sample of the layout. Tempo, reach and noise are set
by hand.

What is left out: hands are hidden by the edge of the picture and by distance, not by what is in front of them; doors
and drawers do not move when hands pull them; feet do not avoid furniture; the shapes of SMPL-H and MANO are zero, since
joints are simulated and no surface.
"""
