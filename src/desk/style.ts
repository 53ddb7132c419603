/**
 * One type scale (a ratio of 1.2), one grid of 4 px, one accent for what can be done and one for what needs a person. States are
 * told by words and shapes; colour only repeats them.
 */
const light =
  '--paper:#fbfbf9;--card:#fff;--ink:#1c2126;--faint:#5a646e;--line:#d5d9dd;--accent:#0b5c8a;--warn:#9a3b00;--warn-paper:#fff3e8;--good:#1d6b3a;--on-accent:#fff;';
const dark =
  '--paper:#14181c;--card:#1b2126;--ink:#e8ebee;--faint:#a3adb7;--line:#39424b;--accent:#7cc4ee;--warn:#ffb27a;--warn-paper:#33220f;--good:#86d6a3;--on-accent:#0b1217;';

export const css = `
:root{color-scheme:light dark;${light}--s:.833rem;--m:1rem;--l:1.2rem;--xl:1.728rem}
@media (prefers-color-scheme:dark){:root{${dark}}}
[data-theme=light]{color-scheme:light;${light}}
[data-theme=dark]{color-scheme:dark;${dark}}
*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--ink);font:400 var(--m)/1.5 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif;overflow-wrap:anywhere}
h1{font-size:var(--xl);line-height:1.2;margin:0 0 16px;font-weight:650;letter-spacing:-.01em}
h2{font-size:var(--l);line-height:1.3;margin:32px 0 8px;font-weight:650}
p{margin:0 0 12px;max-width:75ch}
a{color:var(--accent);text-underline-offset:.15em}
:focus-visible{outline:3px solid var(--accent);outline-offset:2px;border-radius:2px}
small,.faint,footer{color:var(--faint);font-size:var(--s)}
.number,time,code{font-variant-numeric:tabular-nums}
.line{display:block}
.skip{position:absolute;left:-999px}
.skip:focus{left:8px;top:8px;background:var(--card);padding:8px;z-index:1}
.unseen{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}
.top{display:flex;flex-wrap:wrap;gap:8px 16px;align-items:center;padding:12px 24px;background:var(--card);border-bottom:1px solid var(--line);border-top:4px solid var(--accent)}
[data-environment=sandbox] .top{border-top:4px dashed var(--warn)}
.brand{font-weight:700;font-size:var(--l);color:var(--ink);text-decoration:none}
.environment{font-size:var(--s);font-weight:650;text-transform:uppercase;letter-spacing:.06em;padding:2px 8px;border:1px solid currentColor;border-radius:2px;color:var(--accent)}
[data-environment=sandbox] .environment{color:var(--warn);border-style:dashed}
search{flex:1 1 280px;max-width:560px}
.search{display:flex;gap:8px}
nav{display:flex;flex-wrap:wrap;gap:4px 16px}
nav a{padding:8px 0;color:var(--ink);text-decoration:none}
nav a:hover{text-decoration:underline}
nav [aria-current]{box-shadow:inset 0 -2px var(--accent);font-weight:650}
main{padding:24px;max-width:1200px;margin:0 auto}
.alone{max-width:420px;padding-top:12vh}
footer{display:flex;flex-wrap:wrap;gap:8px 24px;align-items:center;padding:16px 24px 32px;max-width:1200px;margin:0 auto}
footer p{margin:0;flex:1 1 280px}
input,select{font:inherit;color:inherit;background:var(--paper);border:1px solid var(--faint);border-radius:3px;padding:8px 12px;width:100%;min-width:0;min-height:44px}
button{flex:none;white-space:nowrap;font:inherit;color:var(--on-accent);background:var(--accent);border:1px solid var(--accent);border-radius:3px;padding:8px 16px;cursor:pointer}
footer button{font-size:var(--s);padding:4px 8px;color:var(--ink);background:none;border-color:var(--line)}
footer button[aria-pressed=true]{border-color:var(--ink);font-weight:650}
.fields{display:grid;gap:8px}
.fields button{margin-top:8px}
.notices ul{list-style:none;margin:0;padding:0}
.notices{padding:8px 24px;background:var(--warn-paper);border-bottom:1px solid var(--warn)}
.notices li{margin:4px 0}
.notices strong,.alert,[data-level=CRITICAL] strong,[data-level=WARNING] strong,[data-state=parked],[data-state=in_doubt]{color:var(--warn)}
[data-level=OK] strong,[data-state=delivered]{color:var(--good)}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(220px,1fr));gap:16px;margin:24px 0}
.tile,.group{background:var(--card);border:1px solid var(--line);border-radius:4px;padding:16px}
.tile h2{font-size:var(--s);margin:0 0 4px;color:var(--faint);font-weight:600}
.tile .number{font-size:var(--xl);font-weight:650;line-height:1.2}
.tile small{display:block}
.charts{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,440px),1fr));gap:16px;margin:16px 0}
.chart{margin:0;padding:16px;background:var(--card);border:1px solid var(--line);border-radius:4px;min-width:0}
.chart[hidden]{display:none}
.chart strong{display:block;color:var(--faint);font-size:var(--s);font-weight:600}
.key{display:inline-block;margin:0 16px 8px 0;font-size:var(--s)}
.key output{font-variant-numeric:tabular-nums;font-weight:650}
.stroke{display:inline-block;width:24px;vertical-align:middle;border-top:2px solid var(--accent)}
.stroke.dashed{border-top:2px dashed var(--warn)}
.plot{height:180px;overflow:hidden}
.group{margin-bottom:16px}
.group h2{margin-top:0}
table{border-collapse:collapse;width:100%;max-width:640px}
th,td{text-align:left;padding:8px 16px 8px 0;border-bottom:1px solid var(--line);font-weight:400}
thead th{font-size:var(--s);color:var(--faint);font-weight:600}
th.number,td.number{text-align:right}
thead th,td.number,.state{white-space:nowrap}
.number+th,.number+td{padding-left:16px}
.facts{margin:0 0 16px;display:grid;gap:8px}
.facts>div{display:grid;grid-template-columns:minmax(120px,180px) 1fr;gap:0 16px;padding-bottom:8px;border-bottom:1px solid var(--line)}
.facts dt{color:var(--faint);grid-row:1/span 99}
.facts dd{margin:0;grid-column:2;max-width:75ch}
.list{padding-left:20px}
.list li{margin:8px 0;max-width:90ch}
.command{display:block;user-select:all;padding:8px 12px;margin:4px 0;background:var(--card);border:1px solid var(--line);border-radius:3px;font-size:var(--s)}
.evidence{padding:8px 12px;border-left:4px solid var(--warn);background:var(--warn-paper)}
.body{white-space:pre-wrap;overflow-wrap:anywhere;padding:8px 12px;background:var(--card);border:1px solid var(--line);border-radius:3px;font-size:var(--s)}
.differs{color:var(--warn);white-space:nowrap}
.actions{display:flex;flex-wrap:wrap;gap:8px;margin:8px 0}
.action{display:flex;flex-wrap:wrap;gap:8px;max-width:100%}
.action input{flex:1 1 180px;width:auto}
.reason button{white-space:normal}
.action button{color:var(--ink);background:none;border-color:var(--faint)}
.action button:hover{border-color:var(--accent);color:var(--accent)}
.reason{max-width:640px;margin-top:24px}
.wide{overflow-x:auto;max-width:100%}
.wide table{max-width:none}
.wide td{overflow-wrap:break-word}
.wide td:first-child{min-width:150px;overflow-wrap:anywhere}
.wide td:last-child:not(.number){min-width:220px;overflow-wrap:anywhere}
td time{white-space:nowrap}
@media (min-width:601px){.wide td:first-child:has(code){min-width:19rem}}
.filter{display:grid;grid-template-columns:repeat(auto-fit,minmax(150px,1fr));gap:8px 16px;align-items:end;margin-bottom:16px}
.filter button{min-height:44px;justify-self:start}
.filter label{display:block;font-size:var(--s);color:var(--faint)}
.pager{gap:4px 24px;margin:16px 0}
.pager a{color:var(--accent);text-decoration:underline}
details{margin:8px 0}
summary{cursor:pointer;color:var(--accent)}
[data-live=stale] #live{color:var(--warn);font-weight:650}
.timeline{list-style:none;margin:0;padding:0}
.timeline li{display:grid;grid-template-columns:230px 1fr;gap:0 16px;padding:8px 0;border-bottom:1px solid var(--line)}
.timeline time{color:var(--faint)}
.words{margin:4px 0 0;padding-left:12px;border-left:2px solid var(--line);color:var(--faint)}
@media (max-width:600px){.top,.notices,main,footer{padding-left:16px;padding-right:16px}.facts>div,.timeline li{grid-template-columns:1fr}.facts dt{grid-row:auto}.facts dd{grid-column:1}th,td{padding-right:8px}}
@media (prefers-reduced-motion:no-preference){a,button{transition:color .1s}}
`;
