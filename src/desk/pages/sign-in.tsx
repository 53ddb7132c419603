import { Document, toHtml } from './layout.js';

export function signInPage(base: string, next: string, wasWrong: boolean): string {
  return toHtml(
    <Document base={base} title="Sign in · Waybill">
      <main class="alone">
        <h1>Waybill</h1>
        {wasWrong && (
          <p role="alert" class="alert">
            Name or password are wrong.
          </p>
        )}
        <form method="post" action={`${base}sign-in`} class="fields">
          <input type="hidden" name="next" value={next} />
          <label for="name">Name</label>
          <input id="name" name="name" autocomplete="username" maxLength={64} required autofocus />
          <label for="password">Password</label>
          <input
            id="password"
            name="password"
            type="password"
            autocomplete="current-password"
            maxLength={200}
            required
          />
          <button type="submit">Sign in</button>
        </form>
      </main>
    </Document>,
    [],
  );
}
