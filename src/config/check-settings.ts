import { z } from 'zod';
import { Secret } from '../model/secret.js';
import type { ConfigurationProblem, Partly, Report } from './configuration-error.js';
import { checkAlert } from './sections/alert.js';
import { checkCluster, checkRedis } from './sections/cluster.js';
import { checkCustomers } from './sections/customers.js';
import { checkDelivery } from './sections/delivery.js';
import { checkDesk } from './sections/desk.js';
import { checkErp } from './sections/erp.js';
import { checkInvoices } from './sections/invoices.js';
import { checkOrders } from './sections/orders.js';
import { checkRetention } from './sections/retention.js';
import { checkSchedule } from './sections/schedule.js';
import { checkFieldRules, checkService } from './sections/service.js';
import { checkAnswers } from './sections/service-answers.js';
import { checkCredential } from './sections/service-credential.js';
import { checkEndpoints } from './sections/service-endpoints.js';
import { checkStore } from './sections/store.js';
import { checkWebhooks } from './sections/webhooks.js';
import { checkWriteBack } from './sections/write-back.js';
import {
  allowedInWords,
  childOf,
  discriminatorOf,
  isGroup,
  membersOf,
  nearestName,
  type SettingNode,
  settingList,
  settingsNode,
} from './setting-list.js';
import { type Settings, settingsSchema } from './settings.js';
import { getIn, isTree, pathInWords, type Segments } from './tree-path.js';

/** Tells where a setting was found: a file and its line, or an environment variable. */
type Locate = (segments: Segments) => string | undefined;

/** `settings` are complete when there are no problems. */
interface CheckedSettings {
  settings: Settings | undefined;
  problems: ConfigurationProblem[];
}

/** The second round: what only several settings together can get wrong. */
const crossChecks: ((settings: Partly<Settings>, report: Report) => void)[] = [
  checkCustomers,
  checkOrders,
  checkService,
  checkCredential,
  checkAnswers,
  checkEndpoints,
  checkFieldRules,
  checkDelivery,
  checkAlert,
  checkDesk,
  checkInvoices,
  checkWriteBack,
  checkWebhooks,
  checkRetention,
  checkSchedule,
  checkErp,
  checkStore,
  checkCluster,
  checkRedis,
];

type Issue = z.ZodError['issues'][number];

interface Fault {
  issue: Issue;
  segments: Segments;
}

/**
 * A name with nothing behind its colon counts as not set, and takes out what an earlier file put in. An unknown name
 * stays, to be refused.
 */
function withoutNulls(value: unknown, node: SettingNode | undefined): unknown {
  if (Array.isArray(value)) return value.map((part) => withoutNulls(part ?? undefined, node && childOf(node, 0)));
  if (!isTree(value)) return value;
  const parts = Object.entries(value).map(([name, part]) => ({ name, part, inner: node && childOf(node, name) }));
  const kept = parts.filter(({ part, inner }) => (part !== null && part !== undefined) || inner === undefined);
  return Object.fromEntries(kept.map(({ name, part, inner }) => [name, withoutNulls(part, inner)]));
}

/** The settings with undefined in place of each fault. */
function withoutFaults(value: unknown, faults: readonly Segments[]): unknown {
  if (faults.length === 0) return value;
  if (faults.some((segments) => segments.length === 0)) return undefined;
  const part = (name: string | number, inner: unknown) => {
    const within = faults.filter(([first]) => first === name).map((segments) => segments.slice(1));
    return withoutFaults(inner, within);
  };
  if (Array.isArray(value)) return value.map((inner, index) => part(index, inner));
  if (!isTree(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, part(name, inner)]));
}

/** One fault for each unknown name; for a value with several forms, the faults of the form that was meant. */
function flatten(issues: readonly Issue[], above: Segments = []): Fault[] {
  return issues.flatMap((issue) => {
    const segments = [...above, ...((issue.path ?? []) as Segments)];
    if (issue.code === 'unrecognized_keys') return issue.keys.map((key) => ({ issue, segments: [...segments, key] }));
    const forms = issue.code === 'invalid_union' ? issue.errors : [];
    // In a given group, if one form is a group, the faults within it say more than that no form fits.
    const isWithinGroup = ({ code, path }: Issue) => typeof path[0] === 'string' || code === 'unrecognized_keys';
    const meant = forms.find((form) => form.every(isWithinGroup));
    return meant === undefined ? [{ issue, segments }] : flatten(meant, segments);
  });
}

const nodeAt = (segments: Segments) =>
  segments.reduce<SettingNode | undefined>((node, segment) => node && childOf(node, segment), settingsNode);

const longest = 80;
const longestSlip = 16;

/** A value as a person may see it: short, and without what looks like a credential. */
function inWords(value: unknown, segments: Segments, node: SettingNode | undefined): string {
  const name = String(segments.at(-1) ?? '');
  if (node?.secret || value instanceof Secret || /(password|token|secret|credential)$/i.test(name)) return '[secret]';
  if (Array.isArray(value)) return value.length === 0 ? 'an empty list' : `a list of ${value.length}`;
  if (isTree(value)) return 'a group of settings';
  if (value === '') return 'empty text';
  // Pasted into the wrong place, a long text may be a secret; a number that is written wrong is short.
  const isForText = !isGroup(node ?? {}) && !['number', 'integer', 'boolean'].includes(node?.type ?? '');
  if (typeof value === 'string' && !isForText && value.length > longestSlip)
    return `a text of ${value.length} characters`;
  const text = (typeof value === 'string' ? JSON.stringify(value) : String(value))
    .replace(/\/\/[^/@\s]*@/g, '//[secret]@')
    .replace(/^"[^:@\s"]*:[^@\s"]*@/, '"[secret]@')
    .replace(/(:\/\/[^?#\s"]*\?)[^"]+/g, '$1[secret]');
  return text.length > longest ? `${text.slice(0, longest)}…` : text;
}

/** The known name that an unknown one may stand for. */
function meantName(segments: Segments, input: unknown): string {
  const group = segments.slice(0, -1);
  const name = String(segments.at(-1));
  const node = nodeAt(group) ?? {};
  const members = (node.anyOf ?? [node]).flatMap(membersOf);
  const by = [...group, discriminatorOf(node) ?? ''];
  const other = members.find((member) => member.name === name);
  if (other !== undefined) return `only where ${pathInWords(by)} is ${other.variants.join(' or ')}`;
  const choice = nodeAt(by);
  const variant = choice?.enum?.find((known) => known === (getIn(input, by) ?? choice.default));
  const here = members.filter(({ variants }) => !variant || variants.length === 0 || variants.includes(variant));
  const names = here.map((member) => member.name);
  const nearest = nearestName(name, names);
  if (nearest !== undefined) return `did you mean ${pathInWords([...group, nearest])}?`;
  const [elsewhere, ...more] = settingList.filter((entry) => entry.segments.at(-1) === name);
  if (elsewhere !== undefined && more.length === 0) return `did you mean ${elsewhere.path}?`;
  return `known here: ${names.join(', ')}`;
}

/** The fault of one setting, from all the issues that it has. */
function problemOf(segments: Segments, issues: readonly Issue[], input: unknown, locate: Locate): ConfigurationProblem {
  const path = pathInWords(segments);
  const place = locate(segments);
  const where = place === undefined ? {} : { where: place };
  if (issues.some(({ code }) => code === 'unrecognized_keys'))
    return { path, message: 'no setting has this name', ...where, hint: meantName(segments, input) };
  if (issues.some(({ code }) => code === 'invalid_key')) return { path, message: 'has an empty name', ...where };
  const node = nodeAt(segments) ?? {};
  const allowed = allowedInWords(node);
  const value = getIn(input, segments);
  if (value === undefined) {
    const entry = settingList.find((setting) => setting.path === path);
    const hint = entry === undefined ? {} : { hint: `set it in local.yaml, or in ${entry.environmentName}` };
    return { path, message: 'required, but not set', allowed, ...hint };
  }
  const found = inWords(value, segments, node);
  const own = issues.flatMap(({ message }) => (message === '' ? [] : [message])).join('; ');
  const hint = node.hint === undefined ? {} : { hint: node.hint };
  return own === ''
    ? { path, message: `is not ${allowed}`, found, ...where, ...hint }
    : { path, message: own, found, allowed, ...where };
}

const startsWith = (segments: Segments, start: Segments) => start.every((part, index) => segments[index] === part);

const sections = Object.keys(settingsSchema.shape);

/** Problems are listed in the order of the settings, whichever check found them; unknown sections come last. */
const position = ([section]: Segments) => {
  const place = sections.indexOf(String(section));
  return place < 0 ? sections.length : place;
};

/** Our own words, or none: then a fault is told by what its setting allows. */
const parse = (schema: z.ZodType, input: unknown) => schema.safeParse(input, { error: () => '' });

/**
 * The value without its faults, which the second round checks: `safeParse` keeps a value to itself as soon as anything in it is
 * wrong. Each part that is right has its defaults.
 */
function soundPart(schema: z.ZodType, input: unknown): unknown {
  const { success, data, error } = parse(schema, input);
  if (success) return data;
  const faults = flatten(error.issues).map(({ segments }) => segments);
  if (faults.some((segments) => segments.length === 0)) return undefined;
  const inner = (part: unknown, value: unknown) => soundPart(part as z.ZodType, value);
  if (schema instanceof z.ZodPrefault) return inner(schema.unwrap(), input ?? {});
  if (schema instanceof z.ZodOptional) return inner(schema.unwrap(), input);
  if (schema instanceof z.ZodPipe) {
    const given = parse(schema.in as z.ZodType, input);
    if (given.success) return inner(schema.out, given.data);
  }
  if (schema instanceof z.ZodArray && Array.isArray(input)) return input.map((part) => inner(schema.element, part));
  if (isTree(input)) {
    if (schema instanceof z.ZodRecord) return mapParts(input, ([, part]) => inner(schema.valueType, part));
    if (schema instanceof z.ZodObject) return mapParts(schema.shape, ([name, part]) => inner(part, input[name]));
    const variant =
      schema instanceof z.ZodDiscriminatedUnion && schema.options.find((option) => isChosen(option, input));
    if (variant) return inner(variant, input);
  }
  return withoutFaults(input, faults);
}

function mapParts(tree: object, partOf: (entry: [name: string, part: unknown]) => unknown): unknown {
  return Object.fromEntries(Object.entries(tree).map((entry) => [entry[0], partOf(entry)]));
}

/** True if the setting that chooses between variants, such as `type`, chooses this one. */
function isChosen(variant: unknown, input: Readonly<Record<string, unknown>>): boolean {
  if (!(variant instanceof z.ZodObject)) return false;
  const literals = Object.entries(variant.shape).filter(([, schema]) => schema instanceof z.ZodLiteral);
  return literals.every(([name, schema]) => parse(schema as z.ZodType, input[name]).success);
}

/**
 * Checks settings against the schema and then against each other, and lists every problem at once.
 * `known` are paths that have a problem already, so that it isn't told twice.
 */
export function checkSettings(given: unknown, locate: Locate, known: readonly string[] = []): CheckedSettings {
  const input = withoutNulls(given, settingsNode);
  const { success, data, error } = parse(settingsSchema, input);
  const faults = flatten(error?.issues ?? []);
  const sound = success ? data : soundPart(settingsSchema, input);
  const told: { segments: Segments; problem: ConfigurationProblem }[] = [];
  const isSamePath = (a: Segments, b: Segments) => a.length === b.length && startsWith(a, b);
  for (const { segments } of faults) {
    if (told.some((other) => isSamePath(other.segments, segments))) continue;
    const issues = faults.flatMap((fault) => (isSamePath(fault.segments, segments) ? [fault.issue] : []));
    told.push({ segments, problem: problemOf(segments, issues, input, locate) });
  }
  const report: Report = (place, message, more = {}) => {
    const segments = place.split('.').map((part) => (/^\d+$/.test(part) ? Number(part) : part));
    const path = pathInWords(segments);
    // A setting that was refused, whole or in part, looks like a missing one here; its first problem is enough.
    const isRelated = (other: Segments) => startsWith(segments, other) || startsWith(other, segments);
    if (known.includes(path) || told.some((other) => isRelated(other.segments))) return;
    const where = more.found === undefined ? undefined : locate(segments);
    told.push({ segments, problem: { path, message, ...more, ...(where !== undefined && { where }) } });
  };
  for (const check of crossChecks) check((sound ?? {}) as Partly<Settings>, report);
  if (told.length === 0) return { settings: sound as Settings, problems: [] };
  const inOrder = told.toSorted((a, b) => position(a.segments) - position(b.segments));
  return { settings: undefined, problems: inOrder.map(({ problem }) => problem) };
}
