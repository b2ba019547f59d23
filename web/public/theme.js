// Runs before the first paint, so that no page flashes in the other theme.
(function () {
  var chosen = null;
  try {
    chosen = localStorage.getItem("ramify.theme");
  } catch (refused) {
    chosen = null; // storage is switched off: the system's choice holds
  }
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
})();
