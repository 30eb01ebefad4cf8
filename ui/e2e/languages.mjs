// The window in its other languages: whether the page says so, and whether every word has room.

export const spoken = { de: "ltr", ar: "rtl" };
export const sizes = { wide: { width: 1280, height: 800 }, narrow: { width: 960, height: 640 } };

/** The page names its language and its direction. */
export const speak = (page, language) =>
  page.evaluate(
    ([tag, dir]) => {
      const { lang, dir: direction } = document.documentElement;
      return lang === tag && direction === dir ? [] : [`the page says ${lang}, ${direction}`];
    },
    [language, spoken[language]],
  );

/**
 * Text without room: wider than its own box, or cut by one. Cut with an ellipsis is allowed only for texts of others, and
 * for words whose whole stands in a title beside.
 */
export const squeezed = (page) =>
  page.evaluate(() => {
    const out = [];
    const root = document.documentElement;
    if (root.scrollWidth > window.innerWidth) out.push(`wider than the window by ${root.scrollWidth - window.innerWidth}`);
    const layer = document.querySelector("dialog[open]") ?? document.body;
    for (const one of layer.querySelectorAll("*")) {
      if (!(one instanceof HTMLElement) || one.closest(".vh, .skip, .sprite, [inert], iframe, [aria-hidden=true]")) continue;
      if (![...one.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.textContent.trim())) continue;
      if (!one.clientWidth || one.scrollWidth <= one.clientWidth + 1) continue;
      const style = getComputedStyle(one);
      if (/(auto|scroll)/.test(style.overflowX) || one.matches("select, textarea, input")) continue;
      const ellipsis = style.overflowX === "hidden" && style.textOverflow === "ellipsis";
      if (ellipsis && (one.closest("[title], bdi, [dir=auto]") || one.querySelector("bdi"))) continue;
      out.push(`${ellipsis ? "cut" : "no room"} (${one.scrollWidth} in ${one.clientWidth}): ${one.outerHTML.slice(0, 130)}`);
    }
    return out.slice(0, 6);
  });
