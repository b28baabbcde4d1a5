"""The physics behind ``gnomon simulate har``: people, how they move, and what a worn sensor makes of it.

A body is a chain of rigid segments whose angles, and a root whose position, are sums of functions of time with closed
derivatives (:mod:`~gnomon.suites.har.simulation.terms`). A sensor sits on one segment, held more or less loosely; what
it measures follows from the chain by rigid-body kinematics (:mod:`~gnomon.suites.har.simulation.body`), so that
accelerometer, gyroscope, gravity and attitude agree with one another. An activity says which motions are added up
(:mod:`~gnomon.suites.har.simulation.activities`). No recording is replayed and no window is copied.

Where the figures come from
---------------------------
From literature, rounded:

- segment lengths: Drillis and Contini (1966), Body segment parameters; heights of adults;
- force under a foot while walking and running: Alexander and Jayes (1980), J. Biomechanics 13, 383-390; Alexander
  (1989), Physiol. Rev. 69, 1199-1227;
- cadence, step length and joint curves: Winter (1991), The biomechanics and motor control of human gait; Novacheck
  (1998), Gait & Posture 7, 77-95; stairs: Riener, Rabuffetti and Frigo (2002), Gait & Posture 15, 32-44;
- variability of strides: Hausdorff (2005), J. NeuroEng. Rehabil. 2, 19; acceleration of the pelvis: Menz, Lord and
  Fitzpatrick (2003), Gait & Posture 18, 35-46;
- shocks along the body: Lafortune (1991), J. Biomechanics 24, 877-886; Mercer et al. (2003), Med. Sci. Sports Exerc.
  35, 307-313;
- hopping: Blickhan (1989), J. Biomechanics 22, 1217-1227; Farley et al. (1991), J. Appl. Physiol. 71, 2127-2132;
- pedalling: Marsh and Martin (1997), Med. Sci. Sports Exerc. 29, 1225-1232; rowing: Hofmijster et al. (2007), J. Sports
  Sci. 25, 403-411;
- standing still: Prieto et al. (1996), IEEE Trans. Biomed. Eng. 43, 956-966; recoil of the heart: Inan et al. (2015),
  IEEE J. Biomed. Health Inform. 19, 1414-1427;
- rising from a chair: Schenkman et al. (1990), Phys. Ther. 70, 638-648; falls: Bourke, O'Brien and Lyons (2007), Gait &
  Posture 26, 194-199; moves of least jerk: Flash and Hogan (1985), J. Neurosci. 5, 1688-1703.

Set by hand, to about a factor of two, while looking at summaries of public samples of MotionSense (10 people), WISDM
(6) and DSADS (3): spread and spectrum of the length of acceleration, power of the gyroscope by band, direction of
gravity.

- how a phone hangs in a pocket and a unit on a strap: natural frequency, damping, arm and stiffness
  (``sensing.hanging``, ``act.STIFF``), and how a phone is turned in a pocket;
- sizes of the shocks of landing (``strike``, ``act.SHOCK``, ``gait.RATTLE``), and the force in slow walking;
- how restless people are when they stand and sit, and the small steps of hand activities;
- the lean of the thigh when seated, the tilt of a chest, on which side people lie;
- tempo of stairs, stepper and cross trainer, the size of rowing, the acceleration of an elevator, the contact of jumps.

Activities that none of the three samples has (falls, gym machines, changes of posture, work) follow literature and
common sense alone: nothing here was compared with real files of them.
"""

from gnomon.suites.har.simulation.people import Person, person
from gnomon.suites.har.simulation.sensing import Device, Motion, perform

__all__ = ["Device", "Motion", "Person", "perform", "person"]
