import type { ComponentChildren, VNode } from 'preact';
import { renderToString } from 'preact-render-to-string';
import { harmless, redact } from '../../model/redact.js';
import type { Notice } from '../../telling/notices.js';
import type { Person } from '../people.js';
import { Command } from './words.js';

/** The frame that every page shows around its own content. */
export interface Frame {
  base: string;
  title: string;
  person: Person;
  environment: 'production' | 'sandbox' | string;
  installation: string;
  notices: readonly Notice[];
  /** The newest line of the audit when the page was made. */
  newest: number;
  theme: Theme;
  /** When the page was made, in words. */
  asOf: string;
  timeZone: string;
  /** The page’s own path, to come back to. */
  path: string;
  hasCharts: boolean;
  /**
   * The state of the mask for personal data, and the link that shows or masks it; null: the page is about one record,
   * or none.
   */
  personal: { isShown: boolean; other: string } | null;
}

export const themes = ['auto', 'light', 'dark'] as const;
export type Theme = (typeof themes)[number];

const menu = [
  ['', 'Overview'],
  ['needs-a-person', 'Needs a person'],
  ['outbox', 'Outbox'],
  ['invoices', 'Invoices'],
  ['reconcile', 'Reconcile'],
  ['audit', 'Audit'],
  ['webhooks', 'Webhooks'],
  ['settings', 'Settings'],
] as const;

/**
 * The one way from a page to its bytes. Preact escapes every text. Here secrets are taken out once more, and no character stays
 * that would turn the direction of writing or hide a text.
 */
export function toHtml(page: VNode, secrets: readonly string[]): string {
  return `<!doctype html>\n${harmless(redact(renderToString(page), secrets))}`;
}

const entities: Record<string, string> = { '&amp;': '&', '&lt;': '<', '&quot;': '"' };

/** A page whose content has a mask over its texts; what stands within tags, and around the content, stays. */
export function maskContent(html: string, cover: (text: string) => string): string {
  const [start, end] = [html.indexOf('<main'), html.lastIndexOf('</main>')];
  const content = html.slice(start, end).replace(/>([^<]+)/g, (all, text: string) => {
    const plain = text.replace(/&(?:amp|lt|quot);/g, (name) => entities[name] ?? name);
    const covered = cover(plain);
    return covered === plain ? all : `>${covered.replace(/&/g, '&amp;').replace(/</g, '&lt;')}`;
  });
  return html.slice(0, start) + content + html.slice(end);
}

export function Layout({ frame, children }: { frame: Frame; children: ComponentChildren }) {
  const { base, title, person, environment, installation, notices, newest, theme, asOf, timeZone, path } = frame;
  const { hasCharts, personal } = frame;
  return (
    <Document
      base={base}
      title={`${title} · ${installation}`}
      theme={theme}
      environment={environment}
      hasCharts={hasCharts}
    >
      <a class="skip" href="#content">
        Skip to the content
      </a>
      <header class="top">
        <a class="brand" href={base}>
          Waybill
        </a>
        <span class="environment">{environment}</span>
        <search>
          <form class="search" action={base} method="get">
            <label class="unseen" for="q">
              Order number, key, invoice or service id
            </label>
            <input id="q" name="q" type="search" maxLength={255} placeholder="Order number, key, invoice, service id" />
            <button type="submit">Find</button>
          </form>
        </search>
        <nav aria-label="Pages">
          {menu.map(([to, name]) => (
            <a
              key={to}
              href={`${base}${to}`}
              aria-current={path.replace(/\?.*/, '') === `${base}${to}` ? 'page' : undefined}
            >
              {name}
            </a>
          ))}
        </nav>
      </header>
      {notices.length > 0 && (
        <section class="notices" aria-label="What holds work back">
          <ul>
            {notices.map(({ text, end }) => (
              <li key={text}>
                <strong>Held</strong> {text} {end !== null && <Command text={end} />}
              </li>
            ))}
          </ul>
        </section>
      )}
      <main id="content">
        <h1>{title}</h1>
        {children}
        {personal !== null && (
          <p class="faint">
            {personal.isShown ? 'Personal data is shown, and the audit says to whom. ' : 'Personal data is masked. '}
            <a href={personal.other}>{personal.isShown ? 'Mask it' : 'Show it, and put that on record'}</a>
          </p>
        )}
      </main>
      <footer>
        <p>
          <span id="live" role="status" data-address={`${base}live`} data-since={newest} data-as-of={asOf}>
            As of {asOf}.
          </span>{' '}
          Times are in {timeZone}. {installation}.
        </p>
        <form method="post" action={`${base}theme`}>
          <CsrfField person={person} />
          <input type="hidden" name="back" value={path} />
          {themes.map((one) => (
            <button key={one} type="submit" name="theme" value={one} aria-pressed={one === theme}>
              {one}
            </button>
          ))}
        </form>
        <form method="post" action={`${base}sign-out`}>
          <CsrfField person={person} />
          <span>
            {person.name} ({person.role === 'act' ? 'may act' : 'may look'})
          </span>{' '}
          <button type="submit">Sign out</button>
        </form>
      </footer>
    </Document>
  );
}

export function Document(props: {
  base: string;
  title: string;
  theme?: Theme;
  environment?: string;
  hasCharts?: boolean;
  children: ComponentChildren;
}) {
  const { base, title, theme = 'auto', environment = 'none', hasCharts = false, children } = props;
  return (
    <html lang="en" data-theme={theme} data-environment={environment}>
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content={theme === 'auto' ? 'light dark' : theme} />
        <title>{title}</title>
        {hasCharts && <link rel="stylesheet" href={`${base}uplot.css`} />}
        <link rel="stylesheet" href={`${base}desk.css`} />
        <script src={`${base}desk.js`} defer />
        {hasCharts && ['uplot.js', 'charts.js'].map((file) => <script key={file} src={`${base}${file}`} defer />)}
      </head>
      <body>{children}</body>
    </html>
  );
}

export function CsrfField({ person }: { person: Person }) {
  return <input type="hidden" name="csrf" value={person.csrf ?? ''} />;
}
