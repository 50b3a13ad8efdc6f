// Small charts of the overview: the server puts their points into an attribute, uPlot draws them.
"use strict";
window.spkyCharts = (() => {
	const drawn = new WeakMap(); // by element: { plot, points, theme }
	const resized = new ResizeObserver((entries) => {
		for (const { target } of entries) drawn.get(target)?.plot.setSize(sizeOf(target));
	});
	const sizeOf = (element) => ({ width: Math.max(120, element.clientWidth), height: 110 });
	const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
	const digits = new Intl.NumberFormat(undefined, { maximumFractionDigits: 1, notation: "compact" });
	// amount is a value as its chart has it: a time in the unit that suits it, or a number.
	const amount = (n, unit) => {
		const ms = { ms: 1, s: 1000 }[unit] * n;
		if (Number.isNaN(ms)) return digits.format(n);
		if (ms === 0) return "0";
		for (const [name, of] of [["h", 3600000], ["min", 60000], ["s", 1000]]) {
			if (ms >= of) return `${digits.format(ms / of)} ${name}`;
		}
		return `${digits.format(ms)} ms`;
	};
	const clock = (seconds) => new Date(seconds * 1000).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: "2-digit" });
	const hour = (seconds, times) => new Date(seconds * 1000).toLocaleTimeString([], {
		hour: "2-digit", minute: "2-digit", second: times.at(-1) - times[0] < 600 ? "2-digit" : undefined, hourCycle: "h23",
	});

	// says shows the values under the pointer in the caption, and what it said before once the pointer is gone.
	function says(element, data) {
		const strong = element.closest("figure")?.querySelector("figcaption strong");
		return (plot) => {
			const at = plot.cursor.idx;
			if (!strong) return;
			strong.dataset.now ??= strong.textContent;
			if (at == null || plot.cursor.left < 0) {
				strong.textContent = strong.dataset.now;
				delete strong.dataset.now;
				return;
			}
			const values = data.series.map((s) => `${amount(s.values[at], element.dataset.unit)} ${s.label}`);
			strong.textContent = `${clock(data.times[at])}: ${values.join(", ")}`;
		};
	}

	function series(element, data) {
		const bars = element.dataset.kind === "bars";
		return data.series.map((s) => ({
			label: s.label, stroke: colour(s.tone), width: bars ? 0 : 1.5, points: { show: data.times.length < 2 },
			fill: bars ? colour(s.tone) : undefined, paths: bars ? uPlot.paths.bars({ size: [0.7, 40] }) : undefined,
		}));
	}

	function draw(element) {
		const data = JSON.parse(element.dataset.points);
		const axis = { stroke: colour("muted"), grid: { stroke: colour("line"), width: 1 }, ticks: { show: false }, font: "11px system-ui, sans-serif" };
		let columns = data.series.map((s) => s.values);
		if (element.dataset.kind === "bars") { // each stands upon those that come after it
			columns = columns.map((_, from) => data.times.map((_, at) => columns.slice(from).reduce((sum, column) => sum + column[at], 0)));
		}
		const plot = new uPlot({
			...sizeOf(element), legend: { show: false }, cursor: { y: false, drag: { setScale: false } }, padding: [8, 26, 0, 0],
			scales: { y: { range: (_, low, high) => [0, Math.max(1, high * 1.1)] } },
			axes: [{ ...axis, size: 22, space: 64, values: (_, ticks) => ticks.map((t) => hour(t, data.times)) }, { ...axis, size: 46, values: (_, ticks) => ticks.map((n) => amount(n, element.dataset.unit)) }],
			series: [{}, ...series(element, data)], hooks: { setCursor: [says(element, data)] },
		}, [data.times, ...columns], element);
		drawn.get(element)?.plot.destroy();
		drawn.set(element, { plot, points: element.dataset.points, theme: colour("ground") });
		resized.observe(element);
	}

	// Draws what is not drawn yet, or differs.
	return function redraw() {
		for (const element of document.querySelectorAll(".plot")) {
			const have = drawn.get(element);
			if (have?.points !== element.dataset.points || have?.theme !== colour("ground")) draw(element);
		}
	};
})();
