/** Methods of an object, or of objects in its fields, that are replaced; each gets the method that was there. */
export interface Overlay {
  readonly [name: string]: Overlay | ((original: Method) => Method);
}

export type Method = (...args: never[]) => unknown;

/** The object with some methods replaced; everything else, private fields too, goes on as before. */
export function overlay<T extends object>(target: T, replaced: Overlay): T {
  return new Proxy(target, {
    get(object, key) {
      const value: unknown = Reflect.get(object, key, object);
      const branch = typeof key === "string" && Object.hasOwn(replaced, key) ? replaced[key] : undefined;
      if (typeof value === "function") {
        const method = value.bind(object) as Method;
        return typeof branch === "function" ? branch(method) : method;
      }
      const inner = typeof branch === "object" && typeof value === "object" && value !== null;
      return inner ? overlay(value, branch) : value;
    },
  });
}
