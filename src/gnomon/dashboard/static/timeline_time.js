/** Time on an axis: where ticks stand, and how a moment and a length of time are written. */

const MINUTE = 60;
const HOUR = 3600;
const DAY = 86400;
const STEPS = [1, 2, 5, 10, 15, 30, MINUTE, 2 * MINUTE, 5 * MINUTE, 10 * MINUTE, 15 * MINUTE, 30 * MINUTE, HOUR,
  2 * HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR, DAY, 2 * DAY, 4 * DAY, 7 * DAY, 14 * DAY, 28 * DAY];
const DATE = /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d)(?::(\d\d(?:\.\d+)?))?(Z|[+-]\d\d:\d\d)?/;

const two = (value) => String(value).padStart(2, "0");

/** Return the distance of ticks that leaves at least `room` seconds between them. */
export function stepOf(room) {
  if (room > STEPS.at(-1)) return Math.ceil(room / (28 * DAY)) * 28 * DAY;
  if (room > 0.5) return STEPS.find((step) => step >= room);
  const power = 10 ** Math.floor(Math.log10(room));
  return [1, 2, 5, 10].map((factor) => factor * power).find((step) => step >= room * (1 - 1e-9));
}

function digitsOf(step) {
  return step >= 1 ? 0 : Math.min(9, Math.ceil(-Math.log10(step) - 1e-9));
}

/**
 * Read the date at t = 0. Dates are shown as they stand there, in their own zone.
 *
 * @returns {{origin: number, zone: string} | null} seconds of the day's clock at t = 0
 */
export function clockOf(text) {
  const found = DATE.exec(text ?? "");
  if (!found) return null;
  const [, year, month, day, hour, minute, second = "0", zone = ""] = found;
  const midnight = Date.UTC(+year, +month - 1, +day) / 1000;
  return { origin: midnight + +hour * HOUR + +minute * MINUTE + +second, zone: zone === "Z" ? "UTC" : zone && `UTC${zone}` };
}

function hours(seconds, digits) {
  const factor = 10 ** digits;
  const whole = Math.round(Math.abs(seconds) * factor) / factor;
  const parts = [Math.floor(whole / HOUR), Math.floor(whole / MINUTE) % 60];
  return { sign: seconds < 0 && whole > 0 ? "−" : "", parts, rest: (whole % MINUTE).toFixed(digits).padStart(digits ? digits + 3 : 2, "0") };
}

/** Write a moment: by the clock where there is one, else as h:mm:ss, m:ss or seconds. */
export function moment(t, clock, digits = 0) {
  if (clock) {
    const { parts, rest } = hours((((clock.origin + t) % DAY) + DAY) % DAY, digits);
    return `${two(parts[0] % 24)}:${two(parts[1])}:${rest}`;
  }
  const { sign, parts, rest } = hours(t, digits);
  if (parts[0]) return `${sign}${parts[0]}:${two(parts[1])}:${rest}`;
  return parts[1] ? `${sign}${parts[1]}:${rest}` : `${sign}${+rest < 10 ? rest.slice(1) : rest} s`;
}

/** Write the day of a moment; empty without a clock. */
export function dayOf(t, clock) {
  if (!clock) return "";
  const date = new Date(Math.floor((clock.origin + t) / DAY) * DAY * 1000);
  return `${date.getUTCFullYear()}-${two(date.getUTCMonth() + 1)}-${two(date.getUTCDate())}`;
}

/** Write a length of time with the precision that it deserves. */
export function length(seconds) {
  if (seconds >= HOUR) return `${Math.floor(seconds / HOUR)} h ${Math.round((seconds % HOUR) / MINUTE)} min`;
  if (seconds >= MINUTE) return `${Math.floor(seconds / MINUTE)} min ${(seconds % MINUTE).toFixed(seconds < 600 ? 1 : 0)} s`;
  if (seconds >= 1) return `${+seconds.toFixed(2)} s`;
  return seconds >= 1e-3 ? `${+(seconds * 1e3).toPrecision(3)} ms` : `${+(seconds * 1e6).toPrecision(3)} µs`;
}

/** Return how many digits after the point tell moments apart that are `seconds` from each other. */
export function precision(seconds) {
  return Math.max(0, Math.min(6, Math.ceil(1 - Math.log10(Math.max(seconds, 1e-9)))));
}

/** Write a whole minute: by the clock, or as h:mm or minutes. */
function coarse(t, clock) {
  if (clock) return moment(t, clock).slice(0, 5);
  const minutes = Math.round(Math.abs(t) / MINUTE);
  const sign = t < 0 && minutes ? "−" : "";
  return minutes >= 60 ? `${sign}${Math.floor(minutes / 60)}:${two(minutes % 60)} h` : `${sign}${minutes} min`;
}

/** Return the ticks of an axis, `spacing` pixels apart or more: `{t, text, day}`, `day` empty without a clock. */
export function ticks(t0, t1, width, clock, spacing) {
  const step = stepOf(((t1 - t0) / Math.max(width, 1)) * spacing);
  const origin = clock ? clock.origin % DAY : 0;
  const digits = digitsOf(step);
  const found = [];
  const first = Math.ceil((t0 + origin) / step - 1e-9);
  for (let k = first; k * step - origin <= t1 + step * 1e-9; k++) {
    const t = k * step - origin;
    const text = step >= MINUTE ? coarse(t, clock) : moment(t, clock, digits);
    found.push({ t, text, day: dayOf(t, clock) });
    if (found.length > 500) break;
  }
  return found;
}
