"""The physics of a worn sensor: kinematics against plain numerical derivatives, and laws that every recording obeys."""

from __future__ import annotations

import os
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from gnomon.core.errors import InputError
from gnomon.suites.har.simulation import Device, perform, person
from gnomon.suites.har.simulation import _kernels as kernels
from gnomon.suites.har.simulation.activities import ACTIVITIES
from gnomon.suites.har.simulation.body import PLACEMENTS, G, axes, felt
from gnomon.suites.har.simulation.events import pacing
from gnomon.suites.har.simulation.sensing import BLOCK, FIELD_UT, stage
from gnomon.suites.har.simulation.terms import Clock, Pieces, Rings, Term, Waves, evaluate, moves, noise, pushes
from gnomon.suites.har.vocabulary import LABELS, TEST_LABELS

IDEAL = Device(0.0, 0.0, 0.0, 0.0, np.inf, np.inf)
PHONE = Device(0.03, 0.003, 0.05, 0.01, 78.4, 35.0)
EVERY = sorted({*LABELS, *(label for labels in TEST_LABELS.values() for label in labels)})
STEP = 1e-3
GAITS = ("walking", "jogging", "walking_upstairs")


def record(activity, placement, *, name="anna", times=None, device=IDEAL, seed=5, trial="1", seconds=None):
    times = np.arange(0, 12, 0.02) if times is None else times
    purpose = ("set", name, activity, trial)
    who = person(seed, "set", name)
    return perform(activity, placement, who, times, seed=seed, purpose=purpose, device=device, seconds=seconds)


def staged(activity, placement, seconds=12.0, name="anna", seed=5):
    return stage(
        activity, placement, person(seed, "set", name), seconds, seed=seed, purpose=("set", name, activity, "1")
    )


def lengths(values):
    return np.sqrt(np.square(values).sum(axis=1))


def peak_hz(signal, hz):
    power = np.abs(np.fft.rfft((signal - signal.mean()) * np.hanning(len(signal)), 8 * len(signal)))
    return np.fft.rfftfreq(8 * len(signal), 1 / hz)[power.argmax()]


def chained(made, times):
    """Attitude of the device and its position by plain composition with scipy: an independent way to both."""
    found = made.quantities(times)[0]
    place, segments = found[:3].T.copy(), made.route.segments
    before = np.zeros((len(times), 3))
    for k in range(len(segments)):
        angles = found[3 + 3 * k : 6 + 3 * k].T
        before = angles + (before if segments[k] == "case" else 0.0)
        attitude = Rotation.from_euler("ZYX", before)
        place += attitude.apply(made.route.arms[k])
    twist = Rotation.from_euler("z", found[-1][:, np.newaxis])
    return attitude * twist * Rotation.from_matrix(made.mount), place


@pytest.mark.parametrize(
    "activity", [*GAITS, "sitting", "eating_soup", "falling_forward", "sit_to_stand", "rowing", "jumping"]
)
@pytest.mark.parametrize("placement", ["pocket", "torso", "wrist", "ankle", "head"])
def test_force_and_rates_are_the_derivatives_of_place_and_attitude(activity, placement):
    times = np.arange(3.5, 6.5, STEP)
    attitude, place = chained(staged(activity, placement), times)
    sensed = record(activity, placement, times=times, seconds=12.0)
    second = (place[2:] - 2 * place[1:-1] + place[:-2]) / STEP**2
    expected = attitude[1:-1].inv().apply(second + np.array([0, 0, G]))
    assert np.abs(sensed.acc[1:-1] - expected).max() < 0.02 * (1 + np.abs(expected).max())
    turned = (attitude[:-2].inv() * attitude[2:]).as_rotvec() / (2 * STEP)
    assert np.abs(sensed.gyro[1:-1] - turned).max() < 0.01 * (1 + np.abs(turned).max())
    np.testing.assert_allclose(sensed.gravity, attitude.inv().apply([0, 0, G]), atol=1e-9)


@pytest.mark.parametrize("placement", ["pocket", "right_arm"])
def test_the_gyroscope_integrates_to_the_attitude(placement):
    times = np.arange(0, 5, STEP)
    sensed = record("walking", placement, times=times, seconds=12.0)
    attitude = Rotation.from_euler("xyz", sensed.attitude)
    middle = (sensed.gyro[1:] + sensed.gyro[:-1]) / 2
    reached = attitude[0]
    for turn in Rotation.from_rotvec(middle * STEP):
        reached = reached * turn
    assert np.degrees((reached.inv() * attitude[-1]).magnitude()) < 0.05


def test_attitude_gravity_and_field_agree():
    sensed = record("walking", "waist")
    attitude = Rotation.from_euler("xyz", sensed.attitude)
    np.testing.assert_allclose(attitude.inv().apply([0, 0, G]), sensed.gravity, atol=1e-9)
    room = attitude.apply(sensed.magnetic)
    np.testing.assert_allclose(room, np.broadcast_to(room[0], room.shape), atol=1e-9)
    np.testing.assert_allclose(room[0, 2], -FIELD_UT[1], atol=1e-9)
    np.testing.assert_allclose(np.hypot(*room[0, :2]), FIELD_UT[0], atol=1e-9)


def test_linear_acceleration_has_no_mean_over_many_strides():
    sensed = record("walking", "torso", times=np.arange(0, 60, 0.02))
    room = Rotation.from_euler("xyz", sensed.attitude).apply(sensed.acc - sensed.gravity)
    assert np.abs(room.mean(axis=0)).max() < 0.05
    assert lengths(room).mean() > 0.5


@pytest.mark.parametrize("placement", sorted(PLACEMENTS))
@pytest.mark.parametrize("activity", ["sitting", "standing", "lying", "lying_side"])
def test_resting_acceleration_is_gravity(activity, placement):
    sensed = record(activity, placement, device=Device(0.03, 0.003, 0.0, 0.0, 78.4, 35.0))
    np.testing.assert_allclose(lengths(sensed.gravity), G, atol=1e-9)
    assert abs(np.median(lengths(sensed.acc)) - G) < 0.05


def test_postures_turn_gravity_as_bodies_do():
    def gravity(activity, placement):
        return record(activity, placement).gravity.mean(axis=0) / G

    assert gravity("standing", "torso") @ gravity("lying_back", "torso") < 0.5
    assert gravity("standing", "torso") @ gravity("sitting", "torso") > 0.8
    assert gravity("standing", "left_leg") @ gravity("sitting", "left_leg") < 0.6
    assert gravity("lying_back", "torso")[2] > 0.8, "the chest faces up"
    assert gravity("standing", "torso")[0] > 0.8, "the first axis of the unit on the chest points up"


@pytest.mark.parametrize("activity", ["falling_forward", "falling_backward", "fall_sideways", "syncope"])
def test_falls_have_free_fall_then_an_impact(activity):
    times = np.arange(0, 8, 0.01)
    least, most, order = [], [], []
    for name in "abcdefgh":
        size = lengths(record(activity, "waist", name=name, times=times).acc)
        least.append(size.min())
        most.append(size.max())
        order.append(size.argmin() < size.argmax())
    assert np.median(least) < 0.45 * G
    assert np.median(most) > 3 * G
    assert all(order)
    assert lengths(record(activity, "waist", times=times).acc)[-100:].std() < 0.5, "still on the floor"


def test_a_short_recording_has_one_fall_and_a_long_one_several():
    def falls(seconds):
        size = lengths(record("falling_backward", "waist", times=np.arange(0, seconds, 0.01)).acc)
        high = np.flatnonzero(size > 2.5 * G)
        return 1 + int((np.diff(high) > 200).sum())

    assert falls(3.0) == 1
    assert falls(10.0) == 1
    assert falls(60.0) == 5, "one every twelve seconds"


@pytest.mark.parametrize("activity", ["running", "jumping", "rope_skipping"])
def test_flight_is_nearly_weightless(activity):
    least = [np.quantile(lengths(record(activity, "chest", name=name).acc), 0.05) for name in "abcdef"]
    assert np.median(least) < 0.35 * G


@pytest.mark.parametrize("activity", ["jumping", "jump_front_back", "rope_jumping", "rope_skipping"])
def test_a_wrist_falls_with_the_body_in_flight(activity):
    times = np.arange(0, 12, 0.01)
    least = [np.quantile(lengths(record(activity, "wrist", name=name, times=times).acc), 0.05) for name in "abcdef"]
    assert np.median(least) < 0.6 * G


def turning(activity, placement):
    """Median over people of the median angular rate, rad/s, at 25 Hz as DSADS has it."""
    times = np.arange(0, 40, 0.04)
    return np.median([np.median(lengths(record(activity, placement, name=n, times=times).gyro)) for n in "abcdefgh"])


def test_a_pelvis_rocks_with_the_pedals():
    """A few degrees once a turn are some tenths of a radian per second: 2 deg at 1.15 Hz is at most .25."""
    for activity in ("cycling", "cycling_vertical", "cycling_horizontal"):
        assert 0.1 < turning(activity, "waist") < 0.5, activity
    assert turning("cycling_horizontal", "torso") < turning("cycling_vertical", "torso")


def test_people_in_an_elevator_move_as_real_ones_do(monkeypatch):
    """Real people of DSADS (p1 to p3, torso): .034 to .061 standing, .043 to .057 in an elevator, .22 to .44 moving."""
    monkeypatch.setitem(ACTIVITIES, "moving_elevator", pacing)
    assert 0.02 < turning("standing", "torso") < 0.07
    assert 0.035 < turning("standing_elevator", "torso") < 0.08
    assert 0.2 < turning("moving_elevator", "torso") < 0.6


@pytest.mark.parametrize("activity", ["walking", "jogging", "running", "nordic_walking"])
def test_cadence_is_the_peak_of_the_spectrum(activity):
    made = staged(activity, "waist", 60.0)
    clocks = {wave.shape.clock.hz for wave in made.terms if isinstance(wave.shape, Waves)}
    assert len(clocks) == 1
    size = lengths(record(activity, "waist", times=np.arange(0, 60, 0.02)).acc)
    assert abs(peak_hz(size, 50) - 2 * clocks.pop()) < 0.05


def test_tempi_are_those_of_people():
    def cadence(activity):
        return np.array([peak_hz(lengths(record(activity, "waist", name=str(k)).acc), 50) for k in range(25)])

    walking, running = cadence("walking"), cadence("running")
    assert 1.7 < np.median(walking) < 2.0
    assert ((walking > 1.4) & (walking < 2.3)).mean() > 0.9
    assert 2.4 < np.median(running) < 3.0
    pedals = [peak_hz(record("cycling_vertical", "right_leg", name=str(k)).gyro[:, 1], 50) for k in range(12)]
    assert 0.9 < np.median(pedals) < 1.5
    strokes = [peak_hz(record("rowing", "torso", name=str(k)).gyro[:, 1], 50) for k in range(12)]
    assert 0.38 < np.median(strokes) < 0.6


def test_hands_move_the_wrist_and_hardly_the_pocket():
    who = [name for name in "abcdefghijkl" if person(5, "set", name).hand == -1]
    for activity in ("brushing_teeth", "eating_soup", "clapping", "typing"):
        wrist, pocket = (
            np.median([lengths(record(activity, place, name=name).gyro).std() for name in who])
            for place in ("right_arm", "pocket")
        )
        assert wrist > 2 * pocket, activity
    tempo = [peak_hz(record("brushing_teeth", "right_arm", name=name).gyro[:, 2], 50) for name in who]
    assert 2.5 < np.median(tempo) < 5.5


def test_sensors_on_one_body_feel_one_motion():
    times = np.arange(0, 40, 0.02)
    tempo = [peak_hz(lengths(record("walking", place, times=times).acc), 50) for place in ("torso", "head", "waist")]
    assert max(tempo) - min(tempo) < 0.03
    left, right = (record("walking", place, times=times).gyro for place in ("left_leg", "right_leg"))
    assert np.corrcoef(left[:, 2], right[:, 2])[0, 1] > 0.5, "mirrored axes: legs swing against one another"


@pytest.mark.parametrize(
    "activity", ["walking", "sitting", "sit_to_stand", "falling_left", "stairs", "moving_elevator"]
)
def test_motion_is_a_function_of_time(activity):
    found = {hz: record(activity, "pocket", times=np.arange(12 * hz) / hz, seconds=12.0) for hz in (20, 50, 100)}
    for hz, step in ((20, 5), (50, 2)):
        for field in ("acc", "gyro", "gravity", "magnetic", "attitude"):
            np.testing.assert_allclose(getattr(found[hz], field), getattr(found[100], field)[::step], atol=1e-7)


def test_a_block_does_not_show():
    times = np.arange(BLOCK + 50) / 100
    whole = record("walking", "wrist", times=times, seconds=30.0)
    part = record("walking", "wrist", times=times[BLOCK - 30 :], seconds=30.0)
    np.testing.assert_allclose(part.acc, whole.acc[BLOCK - 30 :], atol=1e-9)


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**31), activity=st.sampled_from(EVERY), placement=st.sampled_from(sorted(PLACEMENTS)))
def test_the_same_names_give_the_same_bytes_and_others_do_not(seed, activity, placement):
    def made(name, trial):
        found = record(activity, placement, name=name, device=PHONE, seed=seed, trial=trial)
        return found.acc.tobytes() + found.gyro.tobytes()

    first = made("anna", "1")
    assert made("anna", "1") == first
    assert made("anna", "2") != first
    assert made("bert", "1") != first


def test_only_noise_differs_between_two_calls_at_other_times():
    calm = record("walking", "pocket", device=IDEAL)
    noisy = record("walking", "pocket", device=Device(0.05, 0.01, 0.0, 0.0, np.inf, np.inf))
    rest = noisy.acc - calm.acc
    assert abs(rest.std() - 0.05) < 0.003
    assert abs(rest.mean()) < 0.005
    assert abs((noisy.gyro - calm.gyro).std() - 0.01) < 0.001
    np.testing.assert_array_equal(noisy.gravity, calm.gravity)


def test_bias_is_that_of_a_unit():
    device = Device(0.0, 0.0, 0.3, 0.02, np.inf, np.inf)
    offsets = [
        record(activity, "pocket", trial=trial, device=device).acc - record(activity, "pocket", trial=trial).acc
        for activity, trial in (("walking", "1"), ("sitting", "2"))
    ]
    np.testing.assert_allclose(offsets[0], offsets[0][0] * np.ones_like(offsets[0]), atol=1e-9)
    np.testing.assert_allclose(offsets[0][0], offsets[1][0], atol=1e-9)
    other = record("walking", "pocket", name="bert", device=device).acc - record("walking", "pocket", name="bert").acc
    assert np.abs(other[0] - offsets[0][0]).max() > 1e-3


def test_channels_saturate():
    device = Device(0.0, 0.0, 0.0, 0.0, 2 * G, 2.0)
    sensed, free = record("jogging", "ankle", device=device), record("jogging", "ankle")
    np.testing.assert_array_equal(sensed.acc, np.clip(free.acc, -2 * G, 2 * G))
    np.testing.assert_array_equal(sensed.gyro, np.clip(free.gyro, -2.0, 2.0))
    assert (np.abs(sensed.acc) == 2 * G).any()
    assert (np.abs(sensed.gyro) == 2.0).any()


@pytest.mark.parametrize("activity", EVERY)
def test_every_activity_is_finite_and_bounded_everywhere(activity):
    times = np.arange(0, 20, 0.05)
    for placement in PLACEMENTS:
        sensed = record(activity, placement, times=times)
        for field in (sensed.acc, sensed.gyro, sensed.gravity, sensed.attitude, sensed.magnetic):
            assert field.shape == (len(times), 3)
            assert np.isfinite(field).all()
        assert lengths(sensed.acc).max() < 40 * G, placement
        assert lengths(sensed.gyro).max() < 60, placement
    assert set(ACTIVITIES) == set(EVERY)


def test_people_differ_and_stay_themselves():
    drawn = [person(1, "uci", str(k)) for k in range(200)]
    assert len(set(drawn)) == 200
    assert person(1, "uci", "7") == drawn[7]
    assert person(2, "uci", "7") != drawn[7]
    assert person(1, "dsads", "7") != drawn[7]
    heights = np.array([who.height for who in drawn])
    assert 1.66 < heights.mean() < 1.74
    assert 0.06 < heights.std() < 0.12
    assert {who.pocket for who in drawn} == {who.hand for who in drawn} == {1, -1}


def test_mountings_are_rotations_and_phones_turn_up_in_all_ways():
    for place in PLACEMENTS.values():
        if place.axes is not None:
            assert np.linalg.det(axes(place.axes)) == pytest.approx(1.0)
    ways = set()
    for k in range(60):
        mount = staged("standing", "pocket", name=str(k)).mount
        np.testing.assert_allclose(mount @ mount.T, np.eye(3), atol=1e-12)
        assert np.linalg.det(mount) == pytest.approx(1.0)
        ways.add((bool(mount[2, 1] > 0), bool(mount[0, 2] > 0)))
    assert len(ways) == 4, "upright or not, screen out or in"


def test_bad_input_is_refused():
    for wrong in ([], [0.0, np.nan], [1.0, 0.5]):
        with pytest.raises(InputError, match="times"):
            record("walking", "pocket", times=np.array(wrong))
    with pytest.raises(InputError, match="no activity 'flying'"):
        record("flying", "pocket")
    with pytest.raises(InputError, match="no placement 'ear'"):
        record("walking", "ear")


def test_events_follow_the_given_duration():
    times = np.arange(0, 4, 0.02)
    early, late = (record("sit_to_stand", "waist", times=times, seconds=seconds) for seconds in (4.0, 12.0))
    moved = [lengths(one.acc - one.gravity).std() for one in (early, late)]
    assert moved[0] > 3 * moved[1], "in twelve seconds the person rises later"


class TestTerms:
    """Functions of time: derivatives against differences of values, computed here."""

    times = np.arange(1.0, 4.0, 1e-4)

    def check(self, found, tolerance=1e-3):
        value, first, second = found
        np.testing.assert_allclose(np.gradient(value, 1e-4, axis=-1)[..., 2:-2], first[..., 2:-2], atol=tolerance)
        np.testing.assert_allclose(np.gradient(first, 1e-4, axis=-1)[..., 2:-2], second[..., 2:-2], atol=tolerance * 50)

    @pytest.mark.parametrize("power", [1, 5])
    def test_noise(self, power):
        rng = np.random.default_rng(3)
        self.check(noise(rng, [1.0, 0.2], 0.4, 6.0, power).at(self.times))

    def test_noise_has_its_spread_and_begins_alike(self):
        long = noise(np.random.default_rng(3), [1.0, 0.2], 0.1, 4000.0).at(np.arange(0, 4000, 0.05))[0]
        np.testing.assert_allclose(long.std(axis=1), [1.0, 0.2], rtol=0.03)
        short = noise(np.random.default_rng(3), [1.0, 0.2], 0.1, 10.0).at(np.arange(0, 10, 0.05))[0]
        np.testing.assert_allclose(short, long[:, :200], atol=1e-12)

    def test_moves(self):
        path = moves([1.5, 2.5, 3.0], np.array([[0.0], [2.0], [1.0]]))
        self.check(path.at(self.times), 0.01)
        np.testing.assert_allclose(path.at(np.array([0.0, 1.5, 2.0, 2.5, 9.0]))[0, 0], [0, 0, 1, 2, 1], atol=1e-12)

    def test_pushes(self):
        path = pushes([1.0, 1.5, 2.0, 2.5, 3.0], np.array([0.0, 4.0, 0.0, -4.0, 0.0]))
        self.check(path.at(self.times))
        value, first, _ = path.at(np.array([0.0, 2.0, 9.0]))[:, 0]
        np.testing.assert_allclose(first, [0.0, 2.0, 0.0], atol=1e-12)  # half of 4 m/s^2 over one second
        np.testing.assert_allclose(value, [0.0, 1.0, 2.0], atol=1e-12)

    def test_rings(self):
        ring = Rings(np.array([1.2, 2.4]), np.array([[3.0, 5.0]]), 8.0, 0.07)
        found = ring.at(self.times)
        self.check(found, 0.01)
        for start, peak in ((1.2, 3.0), (2.4, 5.0)):
            near = (self.times >= start) & (self.times < start + 0.6)
            assert np.abs(found[2, 0, near]).max() == pytest.approx(peak, rel=0.01)
        assert not found[:, :, self.times < 1.2].any()

    def test_waves_behind_a_gate(self):
        clock = Clock(1.3, 0.4, noise(np.random.default_rng(1), [0.3], 0.7, 6.0))
        waves = Waves(clock, np.array([[0.5 - 0.2j, 0.1j, 0.03], [0.0, 0.2, 0.0]]))
        self.check(waves.at(self.times), 0.01)
        gate = moves([1.5, 3.0], np.array([[0.2], [1.0]]))
        found = evaluate([Term(("a", "b"), waves, gate)], {"b": 2.0}, ("b", "a"), self.times)
        self.check(found, 0.02)
        expected = waves.at(self.times)[0] * gate.at(self.times)[0]
        np.testing.assert_allclose(found[0], [expected[1] + 2.0, expected[0]], atol=1e-12)

    def test_uneven_and_even_knots_agree(self):
        even = noise(np.random.default_rng(2), [1.0], 0.5, 6.0)
        times = np.random.default_rng(0).uniform(0, 6, 500)
        np.testing.assert_allclose(Pieces(even.knots, even.polynomials).at(times), even.at(times), atol=1e-12)

    def test_sines(self):
        angles = np.concatenate([np.linspace(-40, 40, 9001), np.arange(-9, 10) * np.pi / 4])
        sine, cosine = np.empty_like(angles), np.empty_like(angles)
        kernels.sines(angles, sine, cosine)
        np.testing.assert_allclose(sine, np.sin(angles), atol=1e-14)
        np.testing.assert_allclose(cosine, np.cos(angles), atol=1e-14)


def test_a_turning_arm_pulls_outwards():
    """By hand: at 2 rad/s about the vertical axis a sensor half a metre out feels 4 * 0.5 m/s^2 inwards."""
    made = staged("standing", "torso")
    route = type(made.route)(("trunk",), np.array([[0.5, 0.0, 0.0]]), -1)
    found = np.zeros((3, len(route.names), 3))
    found[0, 3], found[1, 3] = 2 * np.arange(3), 2.0
    sensed = felt(found, route, np.eye(3), np.array([1.0, 0.0, 0.0]))
    np.testing.assert_allclose(sensed.force, [[-2.0, 0.0, G]] * 3, atol=1e-12)
    np.testing.assert_allclose(sensed.rates, [[0.0, 0.0, 2.0]] * 3, atol=1e-12)


def test_names_of_the_chain_are_in_order():
    names = staged("walking", "wrist").route.names
    assert names[:3] == ("root.x", "root.y", "root.z")
    assert [name.split(".")[0] for name in names[3:-1:3]] == ["trunk", "upper", "fore", "case"]
    assert names[-1] == "fore.twist"
    assert all(a != b for a, b in pairwise(names))


@pytest.fixture(scope="module")
def real():
    """Windows of real MotionSense at 50 Hz."""
    from gnomon.suites.har import windows
    from gnomon.suites.har.datasets import found

    root = os.environ.get("GNOMON_REAL_DATA")
    if not root or not Path(root, "har").is_dir():
        pytest.skip("needs GNOMON_REAL_DATA")
    dataset, places = found(Path(root, "har"))["motionsense"]
    recordings = list(dataset.read(places[0], "strict"))
    return windows.at_rate(recordings, windows.cut(recordings), 50.0)


@pytest.mark.real
@pytest.mark.parametrize(
    "activity", ["walking", "jogging", "walking_upstairs", "walking_downstairs", "sitting", "standing"]
)
def test_simulated_phones_are_near_real_ones(real, activity):
    def summary(signals):
        size = np.sqrt(np.square(signals[..., :3]).sum(axis=-1))
        rate = np.sqrt(np.square(signals[..., 3:]).sum(axis=-1).mean(axis=1))
        tempo = [peak_hz(one, 50) for one in size]
        return {
            key: float(np.median(value))
            for key, value in (("mean", size.mean(1)), ("spread", size.std(1)), ("turning", rate), ("tempo", tempo))
        }

    people = [record(activity, "pocket", name=str(k), times=np.arange(0, 18, 0.02), device=PHONE) for k in range(24)]
    made = np.concatenate([np.concatenate([one.acc, one.gyro], axis=1).reshape(3, 300, 6) for one in people])
    simulated, truth = summary(made), summary(real.signals[np.array(real.labels) == activity].astype(float))
    assert abs(simulated["mean"] / truth["mean"] - 1) < 0.15
    assert 0.4 < simulated["spread"] / truth["spread"] < 2.5
    assert 0.4 < simulated["turning"] / truth["turning"] < 2.5
    if activity not in ("sitting", "standing"):
        assert abs(simulated["tempo"] - truth["tempo"]) < 0.35
