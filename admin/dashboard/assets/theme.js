// Before anything is drawn: the theme that was chosen, unless it is the system's.
"use strict";
(() => {
	let chosen = null;
	try {
		chosen = localStorage.getItem("spky-theme");
	} catch {
		// a browser that stores nothing
	}
	if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
})();
