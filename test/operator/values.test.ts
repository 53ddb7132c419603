import { expect } from 'chai';
import fc from 'fast-check';
import type { ErpReader } from '../../src/erp/erp-reader.js';
import { ErpError } from '../../src/erp/erp-reader.js';
import { legacy } from '../../src/model/facts/fact.js';
import type { JsonValue } from '../../src/model/record.js';
import type { RecordStory } from '../../src/operator/tell-story.js';
import { masker, textsOf } from '../../src/operator/values/personal-data.js';
import { readErpNow } from '../../src/operator/values/record-values.js';
import { sideBySide } from '../../src/operator/values/side-by-side.js';
import { isItThere } from '../../src/telling/is-it-there.js';

type Fields = { [name: string]: JsonValue };

describe('the values of a record', () => {
  it('stand beside what was acknowledged, field by field, what differs first', () => {
    const erp = { number: 'SO-1', note: 'soon', items: [{ sku: 'A', qty: 2 }] };
    const acknowledged = { number: 'SO-1', items: [{ sku: 'A', qty: 1 }], status: null, code: 'C' };
    expect(sideBySide(erp, acknowledged)).to.deep.equal({
      fields: [
        { field: 'note', erp: 'soon', acknowledged: null, differs: true },
        { field: 'items.1.qty', erp: '2', acknowledged: '1', differs: true },
        { field: 'code', erp: null, acknowledged: 'C', differs: true },
        { field: 'number', erp: 'SO-1', acknowledged: 'SO-1', differs: false },
        { field: 'items.1.sku', erp: 'A', acknowledged: 'A', differs: false },
      ],
      differing: 3,
      leftOut: 0,
    });
    expect(sideBySide(erp, null).differing, 'nothing to compare with').to.equal(0);
    const long = { items: Array.from({ length: 400 }, (_, nth) => nth) };
    expect(sideBySide(long, long)).to.include({ differing: 0, leftOut: 100 });
  });

  it('differ from others, and never from themselves', () => {
    const fields = fc.dictionary(fc.string(), fc.jsonValue()) as fc.Arbitrary<Fields>;
    fc.assert(
      fc.property(fields, fields, (one, other) => {
        expect(sideBySide(one, one).differing).to.equal(0);
        expect(sideBySide(one, other).differing).to.equal(sideBySide(other, one).differing);
      }),
    );
  });

  it('are not those of an ERP that can’t be read', async () => {
    const reader = (sweep: () => Promise<unknown>) => ({ sweep }) as unknown as ErpReader;
    const away = reader(async () => {
      throw new ErpError('unreachable', 'erp.example does not answer');
    });
    expect(await readErpNow(away, 'order', '1')).to.have.nested.property('problem.code', 'erp_not_readable_now');
    const silent = reader(() => new Promise(() => undefined));
    expect(await readErpNow(silent, 'order', '1', 5)).to.deep.equal({ problem: { code: 'erp_silent' } });
  });
});

describe('personal data', () => {
  it('is masked as whole words, and what only looks like it stays', () => {
    const cover = masker(['Erika Muster', 'Muster & Söhne', 'a.b*c']);
    expect(cover('Erika Muster of Muster & Söhne, ERIKA MUSTER')).to.equal('••• of •••, •••');
    expect(cover('Erika Musterfrau, a.b*c, axbc')).to.equal('Erika Musterfrau, •••, axbc');
    expect(cover('mail a.b+c@x-y.example.org or call 0151 234-5678')).to.equal('mail ••• or call •••');
    const punctuation = masker(['Smith-Jones', 'a/b, c: "d" & {e}', 'x\\y^z', 'q = 1; #2 ~ `3` <4> @5 %6 !7']);
    expect(punctuation('by Smith-Jones, not Smith or Jones')).to.equal('by •••, not Smith or Jones');
    expect(punctuation('a/b, c: "d" & {e} x\\y^z q = 1; #2 ~ `3` <4> @5 %6 !7')).to.equal('••• ••• •••');
    const harmless = 'order 0000012345 of 2026-11-24 03:40:00 +01:00, 0.05 EUR, 1 200 of 3 400, sha256 00af';
    expect(cover(harmless)).to.equal(harmless);
    expect(masker([])('nothing known')).to.equal('nothing known');
  });

  it('is every text of a customer but the codes', () => {
    const record = {
      customer_code: 'C-4711',
      name: ' Erika Muster ',
      country: 'Germany',
      address: [{ city: 'Köln' }],
      vat: 'DE',
      n: 7,
    };
    expect(textsOf(JSON.stringify(record))).to.deep.equal(['Erika Muster', 'Köln']);
  });
});

describe('is it at the service?', () => {
  const message = {
    id: 1,
    operation: 'create',
    state: 'parked',
    parkClass: 'unproven',
    wasSent: 1,
    firstSentAt: 1,
    serviceId: null,
  };
  const attempt = (id: number, purpose: string, verdict: string, reason: string | null = null) => ({
    id,
    messageId: 1,
    purpose,
    verdict,
    reason: reason === null ? null : legacy(reason),
    number: id,
    startedAt: id * 10,
    intendedAt: id * 10,
  });
  const ask = (
    last: object | null,
    attempts: object[] = [],
    binding: object | null = null,
  ): { answer: string; words: string } =>
    isItThere(
      {
        binding: binding && { said: null, ...binding },
        messages: last ? [{ ...message, ...last }] : [],
        attempts,
      } as unknown as RecordStory,
      (ms) => `#${ms}`,
    );

  it('is answered by what is proven', () => {
    expect(ask({ state: 'delivered' }, [], { serviceId: 'o-1', acknowledgedAt: 5, atService: null })).to.deep.equal({
      answer: 'yes',
      words: 'acknowledged as o-1 on #5',
    });
    const gone = { serviceId: 'o-1', acknowledgedAt: 5, atService: { goneAt: 9 } };
    expect(ask({ state: 'delivered' }, [], gone).answer).to.equal('no');
    expect(ask({ state: 'delivered', operation: 'delete' }).answer).to.equal('no');
    expect(ask({ state: 'parked', parkClass: 'refused' }).answer).to.equal('no');
    expect(ask({ state: 'pending', wasSent: 0, firstSentAt: null }).answer).to.equal('no');
    expect(ask({ state: 'sending' }).answer).to.equal('unknown');
    expect(ask({ state: 'discarded' }).answer).to.equal('unknown');
    expect(ask(null).answer).to.equal('no');
  });

  it('is answered by a look-up, until it is sent again', () => {
    const sent = attempt(1, 'create', 'in_doubt');
    expect(ask({}, [sent])).to.include({ answer: 'unknown' });
    const none = ask({}, [sent, attempt(2, 'look_up', 'none')]);
    expect(none).to.deep.equal({ answer: 'no', words: 'the service said that it has none, asked on #20' });
    const once = ask({ state: 'in_doubt' }, [sent, attempt(2, 'look_up', 'none')]);
    expect(once).to.include({ answer: 'unknown' }).and.to.have.property('words').that.contains('asked once more');
    expect(ask({}, [sent, attempt(2, 'look_up', 'found')]).answer).to.equal('yes');
    expect(ask({ state: 'in_doubt' }, [sent, attempt(2, 'look_up', 'several', '2 match')])).to.deep.equal({
      answer: 'unknown',
      words: 'the service has several that it may be, asked on #20 (2 match)',
    });
    expect(ask({}, [sent, attempt(2, 'look_up', 'none'), attempt(3, 'create', 'in_doubt')]).answer).to.equal('unknown');
    expect(ask({}, [sent, attempt(2, 'look_up', 'unavailable')]).answer).to.equal('unknown');
  });
});
