import { Document, toHtml } from './layout.js';

const titles: Record<number, string> = {
  401: 'Sign in first',
  403: 'Not allowed',
  404: 'Not found',
  421: 'Unknown address',
  429: 'Too many tries',
  500: 'Something went wrong',
  503: 'Not now',
};

/** Why a request was not served. Only words of ours. */
export function problemPage(base: string, code: number, why: string): string {
  const title = titles[code] ?? 'This did not work';
  return toHtml(
    <Document base={base} title={title}>
      <main class="alone">
        <h1>{title}</h1>
        <p>{why}</p>
        <p>
          <a href={base}>To the desk</a>
        </p>
      </main>
    </Document>,
    [],
  );
}
