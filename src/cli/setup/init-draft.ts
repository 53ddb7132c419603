import { existsSync, readFileSync } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { SetupAnswers } from '../../model/setup-questions.js';
import { writeWholeFile } from '../../store/whole-file.js';
import type { ConfigurationPlace } from './init-files.js';

/** Answers that a person gave on the terminal, kept until the settings are written. No secret is among them. */
export interface InitDraft {
  /** The place of the ERP: flag → answer. */
  places: Readonly<Record<string, string>>;
  /** Question → answers. */
  answers: Readonly<Record<string, readonly string[]>>;
}

export const draftFile = ({ folder }: ConfigurationPlace) => join(folder, 'init-draft.json');

/** The draft beside the settings; null: there is none that can be read. */
export function readDraft(place: ConfigurationPlace): InitDraft | null {
  if (!existsSync(draftFile(place))) return null;
  try {
    const { places, answers } = JSON.parse(readFileSync(draftFile(place), 'utf8')) as InitDraft;
    const isText = (value: unknown) => typeof value === 'string';
    const isWhole =
      Object.values(places).every(isText) &&
      Object.values(answers).every((one) => Array.isArray(one) && one.every(isText));
    return isWhole ? { places, answers } : null;
  } catch {
    // Not written by init: it is asked anew.
    return null;
  }
}

/** Only the owner may read it, as the settings. */
export async function saveDraft(
  place: ConfigurationPlace,
  places: InitDraft['places'],
  answers: SetupAnswers,
): Promise<void> {
  await mkdir(place.folder, { recursive: true });
  const draft: InitDraft = { places, answers: Object.fromEntries(answers) };
  await writeWholeFile(draftFile(place), (handle) => handle.writeFile(`${JSON.stringify(draft, null, 2)}\n`), {
    replaces: true,
  });
}

export const removeDraft = (place: ConfigurationPlace): Promise<void> => rm(draftFile(place), { force: true });
