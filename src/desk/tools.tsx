import { createHash } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ComponentChildren } from 'preact';
import { appendAudit } from '../audit/audit-log.js';
import { lastAuditId } from '../audit/read-audit.js';
import type { Settings } from '../config/settings.js';
import type { Entity } from '../model/record.js';
import { timeFormatter } from '../operator/format.js';
import { readStandstill } from '../operator/read-standstill.js';
import { masker } from '../operator/values/personal-data.js';
import type { ErpNow } from '../operator/values/record-values.js';
import type { JobContext } from '../ops/job-context.js';
import { tellNotices } from '../telling/notices.js';
import { KeptPreviews } from './actions/kept-previews.js';
import { queryOf } from './filters.js';
import { Live } from './live.js';
import type { Metrics } from './monitoring/metrics.js';
import { Layout, maskContent, type Theme, themes, toHtml } from './pages/layout.js';
import type { People, Person } from './people.js';
import type { Sessions } from './sessions.js';

export interface DeskParts {
  context: JobContext;
  erpIdentity: string;
  /** The ERP's values of a record at this moment. */
  erpNow: (entity: Entity, sourceKey: string) => Promise<ErpNow>;
  /** Texts that must not stand on any page. It grows. */
  secrets: readonly string[];
  /** The place where a setting was given; undefined: nowhere. */
  originOf: (path: readonly string[]) => string | undefined;
}

interface PageParts {
  title: string;
  content: ComponentChildren;
  hasCharts?: boolean;
  /** For lists: personal data is masked unless a person asks for it. */
  personal?: readonly string[];
}

const mostAsking = 2;
export const themeCookie = 'waybill_theme';
export const htmlType = 'text/html; charset=utf-8';

/** The tools that the routes work with. */
export class DeskTools {
  #asking = 0;
  readonly time: (ms: number) => string;
  readonly actions: KeptPreviews;
  readonly live: Live;
  readonly sessionCookie: string;

  constructor(
    readonly parts: DeskParts,
    readonly base: string,
    readonly people: People,
    readonly sessions: Sessions,
    readonly metrics: Metrics,
  ) {
    this.time = timeFormatter(parts.context.settings.erp.timeZone);
    this.sessionCookie = sessionCookieOf(parts.context.settings);
    this.live = new Live(parts.context, this.time);
    this.actions = new KeptPreviews(() => parts.context.nowMs());
  }

  /** Sends a page with what stands on every page. */
  async page(
    request: FastifyRequest,
    reply: FastifyReply,
    { title, content, hasCharts = false, personal }: PageParts,
  ): Promise<FastifyReply> {
    const { context, erpIdentity, secrets } = this.parts;
    const { store, settings } = context;
    const nowMs = context.nowMs();
    const isShown = personal !== undefined && (await this.showsPersonal(request));
    const { notices, newest } = await store.read('read what holds work back', async (tx) => ({
      notices: tellNotices(await readStandstill(tx, settings, { erpIdentity, nowMs }), this),
      newest: await lastAuditId(tx),
    }));
    const frame = {
      base: this.base,
      title,
      person: personOf(request),
      environment: settings.service.environment,
      installation: settings.installation,
      notices,
      newest,
      theme: themeOf(request),
      asOf: this.time(nowMs),
      timeZone: settings.erp.timeZone,
      path: request.url,
      hasCharts,
      personal: personal === undefined ? null : { isShown, other: withPersonal(request.url, !isShown) },
    };
    const html = toHtml(<Layout frame={frame}>{content}</Layout>, secrets);
    return reply.type(htmlType).send(personal === undefined || isShown ? html : maskContent(html, masker(personal)));
  }

  /** True if a person asks for personal data in a list; each request goes on record. */
  async showsPersonal(request: FastifyRequest): Promise<boolean> {
    if (queryOf(request).get('personal') !== '1') return false;
    const { store, nowMs } = this.parts.context;
    const detail = { page: request.url.replace(/\?.*/s, '') };
    const line = { event: 'desk', outcome: 'personal_data', actor: this.actor(personOf(request)), detail } as const;
    await store.transaction('record who saw personal data', (tx) => appendAudit(tx, line, nowMs()));
    return true;
  }

  /** Puts on record what a person did at the desk. */
  async audit(person: Pick<Person, 'name'>, outcome: 'sign_in' | 'sign_out'): Promise<void> {
    const { store, nowMs } = this.parts.context;
    const actor = this.actor(person);
    await store.transaction('record a sign-in', (tx) => appendAudit(tx, { event: 'desk', outcome, actor }, nowMs()));
  }

  /** Asks the ERP for a record; but not for so many people at once that the ERP would notice. */
  async erpNow(entity: Entity, sourceKey: string): Promise<ErpNow> {
    if (this.#asking >= mostAsking) return { problem: { code: 'erp_read_for_others' } };
    this.#asking++;
    try {
      return await this.parts.erpNow(entity, sourceKey);
    } finally {
      this.#asking--;
    }
  }

  /** The actor, for the audit: `anna (desk)@host:123`. */
  actor({ name }: Pick<Person, 'name'>): string {
    const at = this.parts.context.actor.lastIndexOf('@');
    return `${name} (desk)${at < 0 ? '' : this.parts.context.actor.slice(at)}`;
  }
}

/** Browsers send a cookie to every port of a host, so that each installation of a machine has a name of its own. */
function sessionCookieOf({ installation, desk }: Settings): string {
  const own = `${installation} ${desk.port} ${desk.publicUrl ?? ''}`;
  return `waybill_desk_${createHash('sha256').update(own).digest('hex').slice(0, 12)}`;
}

/** The person who asks, behind the guard. */
export function personOf({ person }: FastifyRequest): Person {
  if (person === null) throw new Error('A route that needs a person was reached without one.');
  return person;
}

function themeOf({ cookies }: FastifyRequest): Theme {
  return themes.find((one) => one === cookies[themeCookie]) ?? 'auto';
}

/** The same address, asking for personal data or not. Pure. */
function withPersonal(url: string, isAsked: boolean): string {
  const query = queryOf({ url });
  query.delete('personal');
  if (isAsked) query.set('personal', '1');
  return `${url.replace(/\?.*/s, '')}${query.size === 0 ? '' : `?${query}`}`;
}
