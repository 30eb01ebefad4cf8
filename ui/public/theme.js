// Loaded before the first paint, so that a dark window never flashes light. The page's policy allows no inline script.
(function () {
  var root = document.documentElement;
  var system = window.matchMedia("(prefers-color-scheme: dark)");
  function chosen() {
    try {
      return localStorage.getItem("theme");
    } catch (_) {
      return null;
    }
  }
  function apply() {
    root.dataset.theme = chosen() || (system.matches ? "dark" : "light");
  }
  apply();
  system.addEventListener("change", apply);
  try {
    var size = localStorage.getItem("text-size");
    // Above 20 the window is zoomed instead.
    if (size && Number(size) <= 20) root.style.fontSize = size + "px";
  } catch (_) {}
})();
