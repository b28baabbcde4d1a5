/**
 * Level of detail: what a pixel shows of a lane with a million spans, touching only what is visible.
 *
 * A lane holds spans [start, end) in the order of time that do not overlap. An outcome lane shows in every pixel the
 * worst outcome that touches it, however short, so that no error vanishes; of outcomes of one rank the later one. Other
 * lanes show the code with the most time in the pixel, and whether several share it. Spans without length count as a
 * moment. Pixel x of w over [t0, t1] is [t0 + x (t1 - t0) / w, ...); the last one also holds t1.
 */

const BLOCK = 32;
const LARGEST_SUMS = 1 << 21;

/** Return the first index in [low, high) at which a rising array reaches a value (or exceeds it), else high. */
export function search(array, value, low, high, beyond = false) {
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (beyond ? array[middle] <= value : array[middle] < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Return for every outcome how urgent it is, 1 or more and all different, and the outcomes in the order of that. */
export function urgencies(outcomes) {
  const order = outcomes.map((_, code) => code);
  order.sort((a, b) => outcomes[a].rank - outcomes[b].rank || a - b);
  const urgency = new Uint16Array(outcomes.length);
  order.forEach((code, place) => { urgency[code] = place + 1; });
  return { urgency, order };
}

function maxima(values) {
  const levels = [values];
  while (levels.at(-1).length > BLOCK) {
    const below = levels.at(-1);
    const above = new Uint16Array(Math.ceil(below.length / BLOCK));
    for (let i = 0; i < below.length; i++) {
      const block = (i / BLOCK) | 0;
      if (below[i] > above[block]) above[block] = below[i];
    }
    levels.push(above);
  }
  return levels;
}

/**
 * Prepare an outcome lane: block maxima of urgency over its spans, level by level, and how many there are of each code.
 * Outcomes that are wrong have larger ranks than those that are not.
 *
 * @param {{start: Float64Array, end: Float64Array, code: Uint16Array}} lane
 * @param {{rank: number, wrong: boolean}[]} outcomes
 */
export function ranked(lane, outcomes) {
  const { urgency, order } = urgencies(outcomes);
  const own = new Uint16Array(lane.code.length);
  const counts = new Uint32Array(outcomes.length);
  for (let i = 0; i < own.length; i++) {
    own[i] = urgency[lane.code[i]];
    counts[lane.code[i]]++;
  }
  const wrong = order.findIndex((code) => outcomes[code].wrong);
  const threshold = wrong < 0 ? Infinity : wrong + 1;
  return { ...lane, kind: "outcomes", n: own.length, levels: maxima(own), order, threshold, counts };
}

/** Prepare another lane: time by code, summed up to every block of spans. */
export function summed(lane, codes) {
  const n = lane.code.length;
  let block = 64;
  while ((n / block) * codes > LARGEST_SUMS) block *= 2;
  const blocks = Math.floor(n / block);
  const sums = new Float64Array((blocks + 1) * codes);
  for (let b = 0; b < blocks; b++) {
    sums.copyWithin((b + 1) * codes, b * codes, (b + 1) * codes);
    for (let i = b * block; i < (b + 1) * block; i++) sums[(b + 1) * codes + lane.code[i]] += lane.end[i] - lane.start[i];
  }
  return { ...lane, kind: "labels", n, codes, block, sums, spent: new Float64Array(codes) };
}

/** Return the largest urgency among spans i0 ... i1 - 1, and 0 where there are none. */
export function largest(index, i0, i1) {
  let found = 0;
  for (const values of index.levels) {
    if (i0 >= i1) return found;
    while (i0 < i1 && i0 % BLOCK) found = Math.max(found, values[i0++]);
    while (i0 < i1 && i1 % BLOCK) found = Math.max(found, values[--i1]);
    if (values === index.levels.at(-1)) while (i0 < i1) found = Math.max(found, values[i0++]);
    i0 /= BLOCK;
    i1 /= BLOCK;
  }
  return found;
}

/** Return the spans that touch [ta, tb), or [ta, tb] where it is the last pixel, as a range of indices from `from` on. */
export function touching(index, ta, tb, last = false, from = 0) {
  const first = Math.min(search(index.end, ta, from, index.n, true), search(index.start, ta, from, index.n));
  return [first, search(index.start, tb, first, index.n, last)];
}

function eachPixel(index, t0, t1, width, visit) {
  let from = 0;
  let ta = t0;
  for (let x = 0; x < width; x++) {
    const last = x === width - 1;
    const tb = last ? t1 : t0 + ((x + 1) * (t1 - t0)) / width;
    const [i0, i1] = touching(index, ta, tb, last, from);
    if (i0 < i1) visit(x, i0, i1, ta, tb);
    if (i0 >= index.n) return;
    from = i0;
    ta = tb;
  }
}

/** Return the code of the worst outcome in every pixel, -1 where there is nothing. */
export function worst(index, t0, t1, width) {
  const codes = new Int32Array(width).fill(-1);
  eachPixel(index, t0, t1, width, (x, i0, i1) => { codes[x] = index.order[largest(index, i0, i1) - 1]; });
  return codes;
}

function addUp(index, i0, i1, sign) {
  for (let i = i0; i < i1; i++) index.spent[index.code[i]] += sign * (index.end[i] - index.start[i]);
}

function spentIn(index, i0, i1, ta, tb) {
  const { spent, sums, codes, block, code, start, end } = index;
  spent.fill(0);
  const b0 = Math.ceil(i0 / block);
  const b1 = Math.min(Math.floor(i1 / block), sums.length / codes - 1);
  if (b0 < b1) {
    for (let c = 0; c < codes; c++) spent[c] = sums[b1 * codes + c] - sums[b0 * codes + c];
    addUp(index, i0, b0 * block, 1);
    addUp(index, b1 * block, i1, 1);
  } else {
    addUp(index, i0, i1, 1);
  }
  spent[code[i0]] -= Math.max(0, ta - start[i0]);
  spent[code[i1 - 1]] -= Math.max(0, end[i1 - 1] - tb);
}

/** Return the code with the most time in every pixel, -1 where there is nothing; `shared` is 0 where several are, else -1. */
export function dominant(index, t0, t1, width) {
  const codes = new Int32Array(width).fill(-1);
  const shared = new Int32Array(width).fill(-1);
  eachPixel(index, t0, t1, width, (x, i0, i1, ta, tb) => {
    codes[x] = index.code[i0];
    if (i1 - i0 === 1) return;
    spentIn(index, i0, i1, ta, tb);
    const least = (tb - ta) * 1e-9;
    let several = 0;
    for (let c = 0; c < index.codes; c++) {
      if (index.spent[c] > least) several++;
      if (index.spent[c] > index.spent[codes[x]]) codes[x] = c;
    }
    if (several > 1) shared[x] = 0;
  });
  return { codes, shared };
}

/** Call `visit(from, to, code)` for every run of pixels with one code, and not for those with nothing. */
export function runs(codes, visit) {
  for (let x = 0; x < codes.length;) {
    let to = x + 1;
    while (to < codes.length && codes[to] === codes[x]) to++;
    if (codes[x] >= 0) visit(x, to, codes[x]);
    x = to;
  }
}

/** Return least and greatest value of a signal in every pixel, NaN where nothing was recorded. */
export function envelope(signal, t0, t1, width) {
  const low = new Float32Array(width).fill(NaN);
  const high = new Float32Array(width).fill(NaN);
  const scale = width / (t1 - t0);
  const first = Math.max(0, Math.floor((t0 - signal.start) / signal.step));
  const stop = Math.min(signal.low.length, Math.ceil((t1 - signal.start) / signal.step) + 1);
  for (let bin = first; bin < stop; bin++) {
    if (Number.isNaN(signal.low[bin])) continue;
    const x = Math.floor((signal.start + (bin + 0.5) * signal.step - t0) * scale);
    if (x < 0 || x >= width) continue;
    low[x] = low[x] <= signal.low[bin] ? low[x] : signal.low[bin];
    high[x] = high[x] >= signal.high[bin] ? high[x] : signal.high[bin];
  }
  return { low, high };
}

/** Return the first span from index i on whose outcome is wrong, -1 where there is none. */
export function wrongFrom(index, i) {
  const { levels, n, threshold } = index;
  while (i < n) {
    let level = 0;
    let at = i;
    while (level + 1 < levels.length && at % BLOCK === 0 && levels[level + 1][at / BLOCK] < threshold) {
      at /= BLOCK;
      level++;
    }
    if (level === 0 && levels[0][i] >= threshold) return i;
    i = (at + 1) * BLOCK ** level;
  }
  return -1;
}

/** Return the last span up to index i whose outcome is wrong, -1 where there is none. */
export function wrongUpTo(index, i) {
  const { levels, threshold } = index;
  i = Math.min(i, index.n - 1);
  while (i >= 0) {
    let level = 0;
    let at = i;
    while (level + 1 < levels.length && (at + 1) % BLOCK === 0 && levels[level + 1][(at + 1) / BLOCK - 1] < threshold) {
      at = (at + 1) / BLOCK - 1;
      level++;
    }
    if (level === 0 && levels[0][i] >= threshold) return i;
    i = at * BLOCK ** level - 1;
  }
  return -1;
}

/** Return the span that holds a moment, -1 where there is none. */
export function at(lane, t) {
  const i = search(lane.start, t, 0, lane.start.length, true) - 1;
  return i >= 0 && (t < lane.end[i] || t === lane.start[i]) ? i : -1;
}

/** Return the worst spans of an outcome lane, by rank, then by length, then by time; at most `most`. */
export function worstSpans(index, outcomes, most) {
  const rank = outcomes.map((outcome) => outcome.rank);
  const before = (a, b) => rank[index.code[b]] - rank[index.code[a]]
    || index.end[b] - index.start[b] - (index.end[a] - index.start[a]) || a - b;
  let kept = [];
  let limit = -1;
  for (let i = wrongFrom(index, 0); i >= 0; i = wrongFrom(index, i + 1)) {
    if (limit < 0 || before(i, limit) < 0) kept.push(i);
    if (kept.length < 4 * most) continue;
    kept = kept.sort(before).slice(0, most);
    limit = kept[most - 1];
  }
  return kept.sort(before).slice(0, most);
}
