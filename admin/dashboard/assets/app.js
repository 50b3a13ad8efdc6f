// What makes the pages move. Without it they are whole, and stand still.
"use strict";
(() => {
	const each = (selector, f) => document.querySelectorAll(selector).forEach(f);

	// Times: by the server's clock, and in its words.
	let ahead = 0;
	const clock = () => {
		const now = Number(document.getElementById("live")?.dataset.now);
		if (now) ahead = now - Date.now();
	};
	const coarse = (s) => {
		if (s < 60) return `${s} s`;
		if (s < 3600) return `${Math.floor(s / 60)} min`;
		if (s < 48 * 3600) return `${Math.floor(s / 3600)} h`;
		return `${Math.floor(s / 86400)} d`;
	};
	const tell = () => {
		const now = Date.now() + ahead;
		each("time[datetime]", (time) => {
			const ms = now - Date.parse(time.dateTime);
			const text = Math.abs(ms) < 1000 ? "now" : ms < 0 ? `in ${coarse(Math.floor(-ms / 1000))}` : `${coarse(Math.floor(ms / 1000))} ago`;
			if (time.textContent !== text) time.textContent = text;
		});
	};

	// Looking again: one request at a time, and one more if something happened meanwhile.
	let looking = false;
	let again = false;
	let next = 0;
	async function look() {
		clearTimeout(next);
		if (looking || document.hidden) {
			again = true;
			return;
		}
		looking = true;
		again = false;
		try {
			await htmx.ajax("GET", location.pathname + location.search, {
				target: "#live", select: "#live", swap: "morph:outerHTML", headers: { "Spky-Look": "again" },
			});
		} catch {
			// the server is away; the stream will say when it is back
		}
		looking = false;
		if (again) look();
		else later();
	}

	// What moves without anybody saying so, and a database that is away, are looked at of ourselves.
	function later() {
		const live = document.getElementById("live");
		const often = away || instead ? 2000 : Number(live?.dataset.moves);
		clearTimeout(next);
		if (often) next = setTimeout(look, often);
	}

	// The database does not answer: what is shown stays, beside a word of how old it is. A page that is shown instead of
	// another makes room for it.
	let away = "";
	let since = "";
	const instead = !!document.querySelector("#live[data-away]");
	function told(words, asked) {
		if (!words && instead) location.reload();
		if (!!words === !!away && !asked) return;
		if (!away) since = new Date(Date.now() + ahead).toLocaleTimeString();
		away = words ?? "";
		const box = document.getElementById("away");
		if (instead) return; // it says so itself
		box.hidden = !away;
		box.firstElementChild.textContent = away && `${away} What you see is as it was at ${since}${asked ? "; whether what you asked for was done shows" : ". This page goes on by itself"} once the database is back.`;
		pulse();
	}
	document.addEventListener("htmx:afterRequest", (e) => {
		const words = e.detail.xhr?.getResponseHeader("Spky-Away");
		if (words) {
			told(words, e.detail.requestConfig?.verb === "post");
			e.target.closest?.(".detail.loaded")?.classList.remove("loaded");
			later();
		} else if (e.detail.xhr?.status) {
			told(null);
		}
	});

	// The stream that says when to. It ends while nobody sees the page, for browsers have few connections.
	let source = null;
	let connected = false;
	const pulse = () => {
		const sign = document.getElementById("pulse");
		if (!sign || !source) return;
		const state = away ? "away" : connected ? "live" : "lost";
		sign.hidden = false;
		sign.dataset.state = state;
		sign.firstElementChild.textContent = { away: "no database", live: "live", lost: "connecting…" }[state];
	};
	function listen() {
		const feed = document.getElementById("feed");
		if (!feed || document.hidden || source && source.readyState !== EventSource.CLOSED) return;
		source = new EventSource(feed.dataset.src);
		source.addEventListener("changed", look);
		source.addEventListener("open", () => {
			connected = true;
			pulse();
		});
		source.addEventListener("error", () => {
			connected = false;
			pulse();
			if (source.readyState !== EventSource.CLOSED) return; // it tries again by itself
			setTimeout(listen, 1000 + Math.random() * 1000);
			look(); // where the session has ended, this leads to the login
		});
	}
	document.addEventListener("visibilitychange", () => {
		if (document.hidden) {
			source?.close();
			return;
		}
		listen();
		if (again) look();
	});

	// Morphing keeps what its reader has opened, ticked or typed, and what scripts have drawn.
	const typed = (field) => field === document.activeElement || (
		field.type === "checkbox" ? field.checked !== field.defaultChecked : field.value !== field.defaultValue
	);
	const kept = (was, is) => was instanceof Element && (
		was.matches("#pulse, #away") ||
		was.matches("input:not([type=hidden]), textarea") && typed(was) || was.matches(".detail.loaded") && was.dataset.rev === is.dataset?.rev
	);
	Object.assign(Idiomorph.defaults.callbacks, {
		beforeNodeMorphed: (was, is) => !kept(was, is),
		beforeNodeRemoved: (node) => !(node instanceof Element && node.closest(".plot")),
		beforeAttributeUpdated: (name, node) => !(
			name === "open" && node.matches("details") || name === "hidden" && node.matches(".copy") || name === "class" && node.matches(".plot")
		),
	});

	// A step's attempts and output come when it is opened.
	function load(details) {
		const detail = details.open ? details.querySelector(":scope > .detail:not(.loaded)") : null;
		if (!detail) return;
		detail.classList.add("loaded");
		// of its own: of what one element asks for while it waits for an answer, all but the last is dropped
		htmx.ajax("GET", detail.dataset.src, { source: detail, target: detail, swap: "innerHTML" }).catch(() => detail.classList.remove("loaded"));
	}
	document.addEventListener("toggle", (e) => {
		if (e.target.matches("details")) load(e.target);
	}, true);

	// Rows that are ticked.
	const count = () => {
		const chosen = document.getElementById("chosen");
		if (!chosen) return;
		const n = document.querySelectorAll("tbody .tick input:checked").length;
		chosen.textContent = n;
		each("#bulk-bar [name=selected]", (button) => { button.disabled = n === 0; });
	};
	document.addEventListener("change", (e) => {
		if (e.target.id === "all-rows") each("tbody .tick input", (tick) => { tick.checked = e.target.checked; });
		if (e.target.matches(".tick input")) count();
		if (e.target.matches("[data-auto] select, [data-auto] [type=checkbox]")) e.target.form.requestSubmit();
	});

	// Filters that say nothing are not in the address.
	document.addEventListener("submit", (e) => {
		if (!e.target.matches("[data-auto]")) return;
		for (const field of e.target.elements) {
			if (field.name && !field.value) field.disabled = true;
		}
	});
	window.addEventListener("pageshow", () => each("[data-auto] :disabled", (field) => { field.disabled = false; }));

	document.addEventListener("htmx:afterRequest", (e) => {
		const sheet = e.target.closest?.("[popover]");
		if (sheet?.matches(":popover-open")) sheet.hidePopover();
	});
	document.addEventListener("htmx:afterSettle", fresh);
	document.addEventListener("htmx:afterSwap", fresh);
	function fresh() {
		pulse();
		clock();
		tell();
		count();
		copyable();
		each(".step details[open]", load);
		window.spkyCharts();
	}

	const copyable = () => {
		if (navigator.clipboard) each(".copy", (button) => { button.hidden = false; });
	};
	document.addEventListener("click", async (e) => {
		const button = e.target.closest?.("[data-copy]");
		if (!button) return;
		await navigator.clipboard.writeText(button.dataset.copy);
		button.textContent = "copied";
		setTimeout(() => { button.textContent = "copy"; }, 1500);
	});

	// Light, dark, or as the system has it.
	const themes = ["system", "light", "dark"];
	const theme = document.getElementById("theme");
	if (theme) {
		const root = document.documentElement;
		const show = () => { theme.querySelector("span").textContent = root.dataset.theme ?? "system"; };
		theme.hidden = false;
		show();
		theme.addEventListener("click", () => {
			const next = themes[(themes.indexOf(root.dataset.theme ?? "system") + 1) % themes.length];
			if (next === "system") delete root.dataset.theme;
			else root.dataset.theme = next;
			try {
				if (next === "system") localStorage.removeItem("spky-theme");
				else localStorage.setItem("spky-theme", next);
			} catch {
				// a browser that stores nothing
			}
			show();
			window.spkyCharts();
		});
	}

	// Keys.
	let going = 0;
	const rows = () => [...document.querySelectorAll("#live tbody tr, #live .step")].map((row) => row.querySelector("td:not(.tick) a, summary")).filter(Boolean);
	function walk(by) {
		const all = rows();
		const at = all.findIndex((one) => one === document.activeElement);
		all[Math.max(0, Math.min(all.length - 1, at < 0 ? 0 : at + by))]?.focus();
	}
	document.addEventListener("keydown", (e) => {
		if (e.ctrlKey || e.metaKey || e.altKey || e.target.closest?.("input, textarea, select")) return;
		if (Date.now() - going < 1500) {
			going = 0;
			const to = document.querySelector(`[data-go="${CSS.escape(e.key)}"]`);
			if (to) to.click();
			return;
		}
		const acts = {
			"/": () => document.querySelector("[data-search]")?.focus(), "?": () => document.getElementById("keys")?.togglePopover(),
			j: () => walk(1), k: () => walk(-1), g: () => { going = Date.now(); },
		};
		if (!Object.hasOwn(acts, e.key)) return;
		e.preventDefault();
		acts[e.key]();
	});

	setInterval(tell, 1000);
	fresh();
	listen();
	later();
})();
