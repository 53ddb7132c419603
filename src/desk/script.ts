/** The one script: it says how much has happened since the page was made, and whether the daemon still answers. Without it, pages say when they were made. */
export const script = `'use strict';
(() => {
  const mark = document.getElementById('live');
  if (!mark || !('EventSource' in window)) return;
  const { address, since, asOf } = mark.dataset;
  let source = null;
  const say = (text, state) => {
    mark.textContent = text;
    document.documentElement.dataset.live = state;
    if (state !== 'new') return;
    const link = document.createElement('a');
    link.href = location.href;
    link.textContent = 'Show it';
    mark.append(' ', link);
  };
  const open = () => {
    source = new EventSource(address + '?since=' + since);
    source.onmessage = (event) => {
      const { count, isMore, at } = JSON.parse(event.data);
      if (count === 0) say('As of ' + at + '. Nothing has happened since.', 'fresh');
      else say('+' + count + (isMore ? ' or more' : '') + ' new in the audit since ' + asOf + '.', 'new');
    };
    source.onerror = () => say('Connection lost. This page is as of ' + asOf + '.', 'stale');
  };
  // A browser opens six connections to one address at most: a page that is not looked at needs none.
  document.addEventListener('visibilitychange', () => {
    if (source) source.close();
    if (!document.hidden) open();
  });
  if (!document.hidden) open();
})();
`;
