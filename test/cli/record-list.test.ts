import { writeFileSync } from 'node:fs';
import { expect } from 'chai';
import { stringify } from 'csv-stringify/sync';
import fc from 'fast-check';
import { readRecordList } from '../../src/cli/record-list.js';
import type { RefusalFact } from '../../src/model/facts/actions.js';
import type { AdoptionLine } from '../../src/outbound/adoption/adopt-file.js';
import { tell } from '../../src/words/words.js';
import { useTempDir } from '../support/temp-dir.js';

describe('the list of adoptions', () => {
  const dir = useTempDir();
  let files = 0;
  const read = async (content: string | Buffer) => {
    const file = dir.file(`list-${++files}.csv`);
    writeFileSync(file, content);
    const lines: AdoptionLine[] = [];
    for await (const line of readRecordList(file)) lines.push(line);
    return lines;
  };
  const both = [
    { line: 1, sourceKey: '7', serviceId: 'K7' },
    { line: 2, sourceKey: '8', serviceId: 'K8' },
  ];
  const below = both.map((one) => ({ ...one, line: one.line + 1 }));

  it('is read with commas, semicolons or tabs, and with either end of line', async () => {
    for (const separator of [',', ';', '\t'])
      for (const end of ['\n', '\r\n'])
        expect(await read(`7${separator}K7${end}8${separator}K8${end}`)).to.deep.equal(both);
    expect(await read('7,K7\n8,K8'), 'the last line without an end').to.deep.equal(both);
  });

  it('may have a mark, a heading in either order, quotes and empty lines', async () => {
    expect(await read('\uFEFFsource key,service id\r\n7,K7\r\n8,K8\r\n')).to.deep.equal(below);
    expect(await read('service_id;source_key\nK7;7\nK8;8\n')).to.deep.equal(below);
    expect(await read('"7";"K7"\n"8";"K8"\n')).to.deep.equal(both);
    expect(await read('7,K7\n\n8,K8\n')).to.deep.equal([both[0], { ...both[1], line: 3 }]);
    expect(await read('"a;b ""c""",K7\n')).to.deep.equal([{ line: 1, sourceKey: 'a;b "c"', serviceId: 'K7' }]);
  });

  it('tells the line of what is wrong, and goes on', async () => {
    const lines = await read('7,K7\n8\n,K9\n10,\n11, K11\n12,K12,x\n8,K8\n');
    expect(lines.map((one) => (one as { line: number }).line)).to.deep.equal([1, 2, 3, 4, 5, 6, 7]);
    const problems = lines.flatMap((one) => ('problem' in one ? [tell(one.problem)] : []));
    expect(problems).to.have.length(5);
    for (const [i, part] of [
      '1 columns',
      'key of the ERP is empty',
      'id at the service is empty',
      'space',
      '3 columns',
    ].entries())
      expect(problems[i]).to.contain(part);
    expect(lines.at(-1)).to.deep.equal({ ...both[1], line: 7 });
    const [wide] = await read('1;K10001;x\n');
    expect(tell((wide as { problem: RefusalFact }).problem)).to.contain('3 columns');
  });

  it('is refused as a whole where it is no such file', async () => {
    const refusal = (content: string | Buffer) =>
      read(content).then(
        () => 'read',
        (error: Error) => `${error.name}: ${error.message}`,
      );
    expect(await refusal('')).to.contain('is empty');
    expect(await refusal('source key,service id\n')).to.contain('has a heading and no record');
    expect(await refusal(Buffer.from('7,K\xfc7\n', 'latin1'))).to.contain('UTF-8');
    expect(await refusal(Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from('7,K7\n', 'utf16le')]))).to.contain(
      'UTF-8',
    );
    const late = Buffer.concat([Buffer.from('7,K7\n'.repeat(50_000)), Buffer.from([0xff, 0x0a])]);
    expect(await refusal(late), 'far into the file').to.contain('UTF-8');
    const open = await read('7,K7\n"8,K8\n');
    expect(open.at(-1)).to.have.nested.property('problem.code', 'line_unreadable');
  });

  it('gives back whatever a spreadsheet wrote', async () => {
    const cell = fc.string({ minLength: 1, maxLength: 20 }).filter((text) => text.trim() === text);
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(cell, cell), { minLength: 1, maxLength: 20 }),
        fc.constantFrom(',', ';'),
        async (rows, delimiter) => {
          const text = stringify([['source key', 'service id'], ...rows], {
            delimiter,
            quoted: true,
            bom: true,
            record_delimiter: 'windows',
          });
          expect(await read(text)).to.deep.equal(
            rows.map(([sourceKey, serviceId], i) => ({ line: i + 2, sourceKey, serviceId })),
          );
        },
      ),
      { numRuns: 60 },
    );
  });
});
