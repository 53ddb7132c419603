import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { parse } from 'yaml';
import { findExecutable } from '../support/find-executable.js';
import { ensure } from '../support/needed-programs.js';
import { projectRoot } from '../support/project-root.js';

const read = (file: string) => readFileSync(join(projectRoot, file), 'utf8');
const namesIn = (text: string) =>
  new Set(
    [...text.matchAll(/\b(?:waybill|process)_[a-z_]+\b/g)].map(([name]) => name.replace(/_(bucket|sum|count)$/, '')),
  );

interface Rule {
  alert: string;
  expr: string;
  for: string;
  labels: { severity: string };
  annotations: { summary: string; action: string };
}

describe('the rules and the dashboard for monitors', () => {
  const source = read('src/desk/monitoring/metrics.ts');
  const known = new Set([...source.matchAll(/'((?:waybill|process)_[a-z_]+)'/g)].map(([, name]) => name));
  const { groups } = parse(read('docs/monitoring/alerts.yml')) as { groups: { rules: Rule[] }[] };
  const rules = groups.flatMap((group) => group.rules);

  it('name metrics that the desk has, and leave none without a word in docs/desk.md', () => {
    const panels = JSON.parse(read('docs/monitoring/dashboard.json')).panels as { targets: { expr: string }[] }[];
    const asked = [
      ...rules.map(({ expr }) => expr),
      ...panels.flatMap(({ targets }) => targets.map(({ expr }) => expr)),
    ];
    const used = namesIn(asked.join('\n'));
    expect([...used].filter((name) => !known.has(name))).to.deep.equal([]);
    const told = namesIn(read('docs/desk.md'));
    expect([...known].filter((name) => !told.has(name ?? ''))).to.deep.equal([]);
    expect(used.size).to.be.greaterThan(8);
  });

  it('say of each alert what it means and what to do', () => {
    for (const { alert, annotations, labels } of rules) {
      expect(annotations.summary, alert).to.match(/\.$/);
      expect(annotations.action, alert).to.match(/\.$/);
      expect(labels.severity, alert).to.be.oneOf(['critical', 'warning']);
    }
  });

  it('are what Prometheus takes', function () {
    this.timeout(300_000);
    ensure('promtool');
    const promtool = findExecutable('promtool') ?? 'promtool';
    execFileSync(promtool, ['check', 'rules', join(projectRoot, 'docs/monitoring/alerts.yml')]);
  });
});
