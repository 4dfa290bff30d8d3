"use strict";
// Draws the charts that stand in the page as data, copies commands, and loads a running campaign's page again.
(function () {
  const root = document.documentElement;
  root.classList.add("scripts");

  // The library that draws is in the page compressed. The policy lets it run because it names the library's hash.
  async function load_library() {
    const packed = Uint8Array.from(atob(document.getElementById("chart-library").textContent), (letter) => letter.charCodeAt(0));
    const unpacked = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
    const script = document.createElement("script");
    script.textContent = await new Response(unpacked).text();
    document.head.append(script);
  }

  let printing = false;
  const HUES = ["ink", "soft", "rule", "main", "other", "good", "warning", "extra", "faint"];
  const SHAPES = {main: "circle", other: "rectRot", good: "triangle", warning: "rect", extra: "star", faint: "circle"};
  const ON_PAPER = {ink: "#1b1f24", soft: "#57606a", rule: "#d0d7de", main: "#0064a8", other: "#c14a00", good: "#00795a",
                    warning: "#a66a00", extra: "#8a3f78", faint: "#8c959f"};
  function colours() {
    const style = getComputedStyle(root), found = {};
    for (const name of HUES) found[name] = printing ? ON_PAPER[name] : style.getPropertyValue("--" + name).trim();
    return found;
  }
  const clear = (colour, share) => colour + Math.round(255 * share).toString(16).padStart(2, "0");

  function number(value) {
    const size = Math.abs(value);
    return size >= 1e8 ? "unbounded" : value.toLocaleString("en", {maximumFractionDigits: size >= 100 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : 4});
  }
  function shortened(text, length) { return text.length > length ? text.slice(0, length - 1) + "\u2026" : text; }
  function lines(text, length) {
    const all = [""];
    for (const word of text.split(" ")) {
      const last = all[all.length - 1];
      if (last && (last + " " + word).length > length) all.push(word); else all[all.length - 1] = last ? last + " " + word : word;
    }
    return all;
  }

  // What each trial had that the default had not, by campaign and number.
  const campaigns = Array.from(document.querySelectorAll("script[id^='document-report-trials']"), (script) => {
    const {settings, columns, trials} = JSON.parse(script.textContent);
    const words = settings.map((setting) => Object.entries(setting).map((pair) => pair.join("=")).join(" "));
    return new Map(trials.map((row) => [row[columns.trial], row[columns.settings].map((place) => words[place]).join(" ") || "default"]));
  });
  function said(spec, what) {  // a text, or the number of a trial
    const settings = campaigns[spec.campaign]?.get(what);
    return typeof what !== "number" ? what || "" : "trial " + what + (settings ? ": " + settings : "");
  }

  // Lines across the chart with a word, and the points of rows, which a chart of bars has no place for.
  const extras = {
    id: "extras",
    afterDatasetsDraw(chart, _, options) {
      const {ctx, chartArea: area, scales} = chart;
      ctx.save();
      ctx.font = "12px system-ui, sans-serif";
      for (const mark of options.marks) {
        const scale = mark.vertical ? scales.x : scales.y, at = scale.getPixelForValue(mark.at);
        if (!(at >= (mark.vertical ? area.left : area.top) - 1 && at <= (mark.vertical ? area.right : area.bottom) + 1)) continue;
        ctx.strokeStyle = ctx.fillStyle = options.colours.soft;
        ctx.setLineDash([5, 4]);
        ctx.beginPath();
        if (mark.vertical) { ctx.moveTo(at, area.top); ctx.lineTo(at, area.bottom); } else { ctx.moveTo(area.left, at); ctx.lineTo(area.right, at); }
        ctx.stroke();
        ctx.setLineDash([]);
        const width = ctx.measureText(mark.text).width;
        if (mark.vertical) ctx.fillText(mark.text, Math.max(2, Math.min(at - width / 2, chart.width - width - 2)), area.top - 5);
        else ctx.fillText(mark.text, area.right - width - 4, at - 5 < area.top + 10 ? at + 14 : at - 5);
      }
      ctx.beginPath();
      ctx.rect(area.left - 6, area.top, area.right - area.left + 12, area.bottom - area.top);
      ctx.clip();
      for (const series of options.points) {
        ctx.fillStyle = options.colours[series.hue];
        ctx.strokeStyle = options.colours.ink;
        for (const [row, value] of series.data)
          Chart.helpers.drawPoint(ctx, {pointStyle: SHAPES[series.hue], radius: 5, borderWidth: 1}, scales.x.getPixelForValue(value), scales.y.getPixelForValue(row));
      }
      ctx.restore();
    }
  };

  function axis(spec, palette, category) {
    return {type: spec.logarithmic ? "logarithmic" : "linear", min: spec.low ?? undefined, max: spec.high ?? undefined,
            title: {display: Boolean(spec.title), text: lines(spec.title, category), color: palette.ink},
            ticks: {color: palette.soft, maxTicksLimit: 9, maxRotation: 0, includeBounds: false, precision: spec.whole ? 0 : undefined, callback: spec.logarithmic
              ? (value) => /^[125]/.test(String(Number(value).toExponential())) ? number(value) : ""
              : (value) => spec.whole && !Number.isInteger(value) ? "" : number(value)},
            grid: {color: clear(palette.rule, .6), borderColor: palette.rule}};
  }

  function datasets(spec, palette) {
    const all = [];
    for (const series of spec.series) {
      const colour = palette[series.hue], form = series.form;
      const common = {label: series.name, borderColor: colour, backgroundColor: colour, pointStyle: SHAPES[series.hue]};
      if (form === "band") {
        const side = (i) => series.data.map((datum) => ({x: datum[0], y: datum[i], text: number(datum[1]) + " to " + number(datum[2])}));
        const edge = {...common, pointStyle: "rect", showLine: true, borderWidth: 1, borderColor: clear(colour, .5), pointRadius: 0, pointHitRadius: 6};
        all.push({...edge, data: side(1), hidden_in_legend: true});
        all.push({...edge, data: side(2), fill: "-1", backgroundColor: clear(colour, .22)});
      } else {
        const line = form !== "points", bare = line && (form === "steps" || series.data.length > 40 || series.dashed);
        all.push({...common, data: series.data.map((datum) => ({x: datum[0], y: datum[1], text: said(spec, datum[2])})), showLine: line,
                  stepped: form === "steps", borderWidth: 2, borderDash: series.dashed ? [6, 5] : [],
                  pointStyle: bare ? "line" : common.pointStyle, pointRadius: bare ? 0 : line || series.hue === "faint" ? 2.5 : 4, pointHitRadius: 6});
      }
    }
    return all;
  }

  function options(spec, palette, narrow) {
    return {
      animation: false, responsive: true, maintainAspectRatio: false, layout: {padding: {right: 8, top: spec.marks.some((mark) => mark.vertical) ? 18 : 4}},
      interaction: {mode: "nearest", intersect: true},
      plugins: {
        extras: {marks: spec.marks, points: [], colours: palette},
        legend: {display: spec.series.length > 1, position: "bottom", align: "start", onClick() {},
                 labels: {color: palette.ink, usePointStyle: true, boxHeight: 7, filter: (item, data) => !data.datasets[item.datasetIndex]?.hidden_in_legend}},
        tooltip: {callbacks: {}}
      },
      scales: {x: axis(spec.x, palette, narrow ? 40 : 90), y: axis(spec.y, palette, narrow ? 34 : 46)}
    };
  }

  function plain(spec, palette, narrow) {
    const chosen = options(spec, palette, narrow);
    chosen.plugins.tooltip.callbacks = {
      title: () => "",
      label(item) {
        const text = item.raw.text;
        return lines(item.dataset.label + ": " + number(item.parsed.x) + ", " + (text && item.dataset.fill ? text : number(item.parsed.y)) + (text && !item.dataset.fill ? "; " + text : ""), 60);
      }
    };
    return {type: "scatter", data: {datasets: datasets(spec, palette)}, options: chosen, plugins: [extras]};
  }

  function rows(spec, palette, narrow) {
    const chosen = options(spec, palette, narrow), points = spec.series.filter((series) => series.form === "points");
    chosen.indexAxis = "y";
    chosen.plugins.extras.points = points;
    chosen.scales.y = {type: "category", ticks: {color: palette.ink, autoSkip: false, callback: (_, i) => shortened(spec.rows[i], narrow ? 22 : 44)},
                       grid: {display: false, borderColor: palette.rule}};
    chosen.plugins.tooltip.callbacks = {
      title: (items) => items.length ? lines(spec.rows[items[0].parsed.y], 60) : "",
      label(item) {
        const [low, high, text] = item.raw.bar;
        const all = [item.dataset.label + ": " + number(low) + " to " + number(high) + (text ? "; " + text : "")];
        for (const series of points) for (const [row, value] of series.data) if (row === item.parsed.y) all.push(series.name + ": " + number(value));
        return all.flatMap((each) => lines(each, 60));
      }
    };
    const labels = spec.rows.map((_, i) => String(i));
    const bars = spec.series.filter((series) => series.form === "bars").map((series) => ({
      label: series.name, grouped: false, backgroundColor: clear(palette[series.hue], points.length ? .45 : .8), borderColor: palette[series.hue],
      borderWidth: points.length ? 1 : 0, borderSkipped: false, minBarLength: 2, barPercentage: .8, categoryPercentage: .85, maxBarThickness: 26, pointStyle: "rect",
      data: series.data.map((datum) => ({x: [datum[1], datum[2]], y: String(datum[0]), bar: [datum[1], datum[2], said(spec, datum[3])]}))
    }));
    const marked = points.filter((series) => series.data.length).map((series) => ({label: series.name, data: [], pointStyle: SHAPES[series.hue], backgroundColor: palette[series.hue], borderColor: palette[series.hue]}));
    if (bars.length === spec.rows.length && bars.length > 1 && !marked.length) chosen.plugins.legend.display = false;  // the rows say it
    return {type: "bar", data: {labels, datasets: bars.concat(marked)}, options: chosen, plugins: [extras]};
  }

  const specs = JSON.parse(document.getElementById("charts").textContent);
  let drawn = [];
  function draw() {
    for (const chart of drawn) chart.destroy();
    const palette = colours();
    Chart.defaults.font.family = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Liberation Sans', 'DejaVu Sans', sans-serif";
    drawn = specs.map((spec) => {
      const canvas = document.getElementById("chart-" + spec.id), box = canvas.parentElement, narrow = box.clientWidth < 560;
      if (spec.rows.length) box.style.height = 26 * spec.rows.length + (narrow ? 130 : 110) + "px";
      return new Chart(canvas, spec.rows.length ? rows(spec, palette, narrow) : plain(spec, palette, narrow));
    });
  }
  load_library().then(() => {
    root.classList.add("charts");
    for (const table of document.querySelectorAll("details.table")) table.open = false;
    draw();
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
    addEventListener("beforeprint", () => { printing = true; draw(); });
    addEventListener("afterprint", () => { printing = false; draw(); });
  }, () => {});  // a browser that cannot unpack it shows the tables

  for (const button of document.querySelectorAll(".command button")) {
    const code = button.parentElement.querySelector("code");
    button.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(code.textContent);
      } catch {
        getSelection().selectAllChildren(code);
        document.execCommand("copy");
      }
      button.textContent = "Copied";
      setTimeout(() => { button.textContent = "Copy"; }, 2000);
    });
  }

  // A campaign that was killed wrote no last page. One that runs renews its page about once a minute; a long build takes longer.
  const OLD = 15;  // minutes
  function tell_age() {
    const state = document.querySelector(".state"), minutes = Math.floor((Date.now() / 1000 - state.dataset.written) / 60);
    if (!(minutes >= OLD)) return;
    const [unit, size] = minutes < 120 ? ["minutes", 1] : minutes < 2880 ? ["hours", 60] : ["days", 1440];
    const age = Math.floor(minutes / size) + " " + unit;
    const said = document.querySelector(".stale") || document.createElement("p");
    said.className = "stale";
    said.textContent = "This page was last written " + age + " ago, while a campaign was running that may have ended since.";
    state.classList.remove("running");
    state.after(said);
  }

  if (document.body.classList.contains("running")) {
    tell_age();
    setInterval(() => {  // not under the eyes of who reads a table or marks text
      tell_age();
      if (!document.querySelector("details[open]") && getSelection().isCollapsed) location.reload();
    }, 60000);
  }
})();
