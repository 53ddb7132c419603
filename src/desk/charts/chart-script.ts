/** Draws the charts of a page from the rows that stand in it. Without it there is the table. */
export const chartScript = `'use strict';
(() => {
  const holder = document.getElementById('figures');
  if (!holder || typeof uPlot !== 'function') return;
  const rows = JSON.parse(holder.dataset.rows);
  const zone = holder.dataset.zone;
  const columnOf = (nth) => rows.map((row) => row[nth]);
  const colour = (name) => () => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const clock = new Intl.DateTimeFormat('en-GB', { timeZone: zone, hour: '2-digit', minute: '2-digit' });
  const day = new Intl.DateTimeFormat('en-GB', { timeZone: zone, day: 'numeric', month: 'short' });
  const span = (s) =>
    s < 90 ? Math.round(s) + ' s' : s < 5400 ? Math.round(s / 60) + ' min' : s < 129600 ? Math.round(s / 3600) + ' h' : Math.round(s / 86400) + ' d';
  const units = {
    count: { write: (n) => n.toLocaleString('en'), least: 4, steps: roundNumbers() },
    span: { write: span, least: 4, steps: [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 21600, 43200, 86400, 172800, 604800, 1209600] },
    percent: { write: (n) => n + ' %', least: 100, steps: [10, 20, 25, 50, 100, 200, 500, 1000] },
  };
  function roundNumbers() {
    const all = [];
    for (let power = 1; power <= 1e9; power *= 10) all.push(power, 2 * power, 5 * power);
    return all;
  }
  const font = '12px system-ui, sans-serif';
  const plots = [];
  for (const figure of document.querySelectorAll('figure[data-chart]')) {
    const lines = JSON.parse(figure.dataset.chart);
    const place = figure.querySelector('.plot');
    const outputs = [...figure.querySelectorAll('output')];
    figure.hidden = false;
    const scales = { x: { time: true } };
    const line = { stroke: colour('--line'), width: 1 };
    const axes = [
      {
        stroke: colour('--faint'),
        font,
        size: 28,
        grid: { show: false },
        ticks: line,
        values: (_plot, at, _axis, _space, step) => at.map((s) => (step >= 86400 ? day : clock).format(new Date(s * 1000))),
      },
    ];
    lines.forEach(({ unit }, nth) => {
      if (scales[unit]) return;
      const { least, steps, write } = units[unit];
      scales[unit] = { range: (_plot, _least, most) => [0, Math.max(least, (most || 0) * 1.1)] };
      axes.push({
        scale: unit,
        side: nth === 0 ? 3 : 1,
        size: 64,
        stroke: colour('--faint'),
        font,
        incrs: steps,
        grid: nth === 0 ? line : { show: false },
        ticks: line,
        values: (_plot, at) => at.map(write),
      });
    });
    const tell = (plot) =>
      lines.forEach(({ column, unit }, nth) => {
        const value = plot.cursor.idx == null ? null : rows[plot.cursor.idx][column];
        outputs[nth].textContent = value == null ? '' : units[unit].write(value);
      });
    const plot = new uPlot(
      {
        width: place.clientWidth,
        height: 180,
        tzDate: (s) => uPlot.tzDate(new Date(s * 1000), zone),
        legend: { show: false },
        cursor: { drag: { x: false, y: false }, sync: { key: 'figures' } },
        scales,
        axes,
        hooks: { setCursor: [tell] },
        series: [
          {},
          ...lines.map(({ name, unit, isDashed }) => ({
            label: name,
            scale: unit,
            stroke: colour(isDashed ? '--warn' : '--accent'),
            width: 2,
            dash: isDashed ? [6, 4] : undefined,
            points: { size: 5 },
          })),
        ],
      },
      [columnOf(0), ...lines.map(({ column }) => columnOf(column))],
      place,
    );
    plots.push(plot);
    // Its place becomes narrower with the window, and also by zooming or with a scroll bar.
    new ResizeObserver(() => plot.setSize({ width: place.clientWidth, height: 180 })).observe(place);
  }
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
    for (const plot of plots) plot.redraw();
  });
})();
`;
