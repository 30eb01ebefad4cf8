// The window under what a person has set for everything: forced colours, no motion, text at 200 %.

/** Screens that stand for the others: each layout and each kind of control once. */
export const adapted = new Set(["01-awaiting", "02-bundle", "03-edit", "04-held", "05-unknown", "06-history-past", "07-record", "09-destinations", "10-kinds", "11-sources", "13-first", "14-empty", "15-palette", "16-reject", "17-insights", "21-identity", "settings", "22-way"]);

const tick = (page) => page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));

/** Visible controls whose outline would be lost if the browser painted them without our backgrounds. */
const borderless = (page) =>
  page.evaluate(() =>
    [...document.querySelectorAll("main button.btn, main .filt, main input.in, main select.in, main .st:not(.st--bare), main .sig, dialog[open] .btn, dialog[open] .in")]
      .filter((one) => one.getClientRects().length > 0)
      .filter((one) => {
        const style = getComputedStyle(one);
        return style.borderTopWidth === "0px" && style.outlineStyle === "none";
      })
      .slice(0, 5)
      .map((one) => `no border in forced colours: ${one.outerHTML.slice(0, 120)}`),
  );

/** Text that its own box hides without a way to reach it: not scrolled, and not an ellipsis with the whole in a title. */
const lost = (page) =>
  page.evaluate(() => {
    const out = [];
    if (document.documentElement.scrollWidth > window.innerWidth) out.push(`wider than the window by ${document.documentElement.scrollWidth - window.innerWidth}`);
    const reach = (node) => {
      for (let up = node; up; up = up.parentElement) {
        const style = getComputedStyle(up);
        if (/(auto|scroll)/.test(style.overflowX + style.overflowY)) return up;
      }
      return null;
    };
    const layer = document.querySelector("dialog[open]") ?? document;
    for (const one of layer.querySelectorAll("button, a[href], input, select, textarea, h1, [role=option], [role=tab]")) {
      if (one.closest(".vh, .skip, [inert]") || one.matches(".vh, .skip, [type=file], [type=radio], [type=checkbox]")) continue;
      const box = one.getBoundingClientRect();
      if (!box.width || !box.height) continue;
      const scroller = reach(one.parentElement);
      // The page may scroll downwards; it never has to be scrolled sideways.
      const page = document.documentElement;
      const down = getComputedStyle(document.body).overflowY !== "hidden" && layer === document;
      const high = down ? page.scrollHeight : window.innerHeight;
      const top = box.top + (down ? window.scrollY : 0);
      const inside = box.left >= -1 && box.right <= window.innerWidth + 1 && top >= -1 && top + box.height <= high + 1;
      if (!inside && (!scroller || scroller === document.documentElement || scroller === document.body)) out.push(`out of the window: ${one.outerHTML.slice(0, 120)}`);
    }
    return out.slice(0, 6);
  });

export const adaptations = {
  forced: {
    view: {},
    set: (page) => page.emulateMedia({ forcedColors: "active" }),
    async faults(page) {
      const faults = await borderless(page);
      const selected = await page.evaluate(() => {
        const row = document.querySelector("[role=option][aria-selected=true], .item[aria-current=true]");
        return row ? getComputedStyle(row).outlineStyle !== "none" || getComputedStyle(row).borderTopWidth !== "0px" : true;
      });
      if (!selected) faults.push("the selected row looks like any other");
      return faults;
    },
  },
  still: {
    view: { reduced: true },
    set: tick,
    // Longer than a frame is motion. A countdown's figure changes; that is no animation.
    faults: (page) =>
      page.evaluate(() =>
        document
          .getAnimations()
          .filter((one) => Number(one.effect?.getComputedTiming().duration) > 20)
          .slice(0, 5)
          .map((one) => `moves: ${one.effect?.target?.className ?? ""} ${one.animationName ?? one.transitionProperty ?? ""}`),
      ),
  },
  large: {
    // 200 % zoom of a window of 1280 by 800 leaves 640 by 400 (WCAG 1.4.4 and 1.4.10).
    view: { width: 640, height: 400 },
    set: tick,
    faults: lost,
  },
  bigtext: {
    view: {},
    set: (page) => page.evaluate(() => (document.documentElement.style.fontSize = "20px")),
    faults: lost,
  },
};
