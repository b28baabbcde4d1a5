/** Hands on a timeline: drag, wheel, pinch and click on the lanes, and the brush in the strip above them. */

const CLICK = 4;
const EDGE = 8;

/**
 * Listen to pointers on the lanes.
 *
 * @param {HTMLCanvasElement} canvas
 * @param {{pan(pixels), zoom(factor, x), click(x, y), hover(x, y), leave()}} act x and y in pixels of the canvas
 */
export function lanes(canvas, act) {
  const held = new Map();
  let moved = 0;
  let apart = 0;
  const place = (event) => {
    const box = canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };
  const spread = () => {
    const [[ax], [bx]] = [...held.values()];
    return [Math.max(20, Math.abs(ax - bx)), (ax + bx) / 2];
  };
  canvas.addEventListener("pointerdown", (event) => {
    if (event.pointerType === "mouse" && event.button !== 0) return;
    canvas.setPointerCapture(event.pointerId);
    held.set(event.pointerId, place(event));
    if (held.size === 1) moved = 0;
    if (held.size === 2) [apart] = spread();
  });
  canvas.addEventListener("pointermove", (event) => {
    const now = place(event);
    const before = held.get(event.pointerId);
    if (!before) { act.hover(...now); return; }
    held.set(event.pointerId, now);
    moved += Math.abs(now[0] - before[0]) + Math.abs(now[1] - before[1]);
    if (held.size === 1 && moved > CLICK) act.pan(before[0] - now[0]);
    if (held.size !== 2) return;
    const [wide, middle] = spread();
    act.zoom(apart / wide, middle);
    apart = wide;
  });
  const release = (event) => {
    if (!held.delete(event.pointerId)) return;
    if (event.type === "pointerup" && moved <= CLICK && held.size === 0) act.click(...place(event));
  };
  canvas.addEventListener("pointerup", release);
  canvas.addEventListener("pointercancel", release);
  canvas.addEventListener("pointerleave", () => act.leave());
  canvas.addEventListener("wheel", (event) => {
    // A plain wheel scrolls the page, unless the timeline has been chosen (a click or Tab) or a key is held.
    const sideways = event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY);
    if (!sideways && !event.ctrlKey && !event.metaKey && document.activeElement !== canvas) return;
    event.preventDefault();
    const unit = event.deltaMode === 1 ? 16 : 1;
    if (sideways) act.pan((event.deltaX || event.deltaY) * unit);
    else act.zoom(Math.exp(Math.max(-200, Math.min(200, event.deltaY * unit)) * 0.0025), place(event)[0]);
  }, { passive: false });
}

/**
 * Listen to pointers on the strip: inside the brush it is moved, at its edges resized, elsewhere drawn anew.
 *
 * @param {HTMLCanvasElement} canvas
 * @param {() => [number, number]} shown the brush as shares of the width
 * @param {(from: number, to: number) => void} show
 */
export function brushing(canvas, shown, show) {
  let grip = null;
  const share = (event) => {
    const box = canvas.getBoundingClientRect();
    return Math.min(1, Math.max(0, (event.clientX - box.left) / box.width));
  };
  canvas.addEventListener("pointerdown", (event) => {
    if (event.pointerType === "mouse" && event.button !== 0) return;
    canvas.setPointerCapture(event.pointerId);
    const at = share(event);
    const [from, to] = shown();
    const near = EDGE / canvas.getBoundingClientRect().width;
    const whole = to - from > 1 - 1e-9;
    if (!whole && Math.abs(at - from) < near && to - from > 2 * near) grip = { fixed: to };
    else if (!whole && Math.abs(at - to) < near && to - from > 2 * near) grip = { fixed: from };
    else if (!whole && at > from && at < to) grip = { offset: at - from, wide: to - from };
    else grip = { fixed: at, fresh: true, wide: to - from };
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!grip) return;
    const at = share(event);
    if (grip.offset !== undefined) {
      const from = Math.min(1 - grip.wide, Math.max(0, at - grip.offset));
      show(from, from + grip.wide);
    } else if (Math.abs(at - grip.fixed) > 1e-4) {
      grip.fresh = false;
      show(Math.min(at, grip.fixed), Math.max(at, grip.fixed));
    }
  });
  canvas.addEventListener("pointerup", (event) => {
    if (grip?.fresh && grip.wide < 1 - 1e-9) {
      const from = Math.min(1 - grip.wide, Math.max(0, share(event) - grip.wide / 2));
      show(from, from + grip.wide);
    }
    grip = null;
  });
  canvas.addEventListener("pointercancel", () => { grip = null; });
}
