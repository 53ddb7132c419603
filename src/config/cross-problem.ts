/** Settings of which any part may be missing, because it was refused on its own. */
export type Partly<T> = T extends readonly unknown[]
  ? T
  : T extends object
    ? { [K in keyof T]?: Partly<T[K]> | undefined }
    : T;

export interface CrossProblem {
  segments: (string | number)[];
  message: string;
  found?: string;
  allowed?: string;
  hint?: string;
}

export type Report = (place: string, message: string, more?: Omit<CrossProblem, 'segments' | 'message'>) => void;
