/** The same object, with another method of that name. */
export function withMethod<T extends object, Name extends keyof T>(target: T, name: Name, method: T[Name]): T {
  return new Proxy(target, {
    get: (whole, asked) => {
      if (asked === name) return method;
      const value = Reflect.get(whole, asked) as unknown;
      return typeof value === 'function' ? value.bind(whole) : value;
    },
  });
}
