/** Undoes a change. */
export type Undo = () => void;

/** Sets a property; the function returned puts back exactly what was there, or nothing if nothing was. @internal */
export function override(target: object, key: PropertyKey, value: unknown): Undo {
  const before = Object.getOwnPropertyDescriptor(target, key);
  Object.defineProperty(target, key, {
    configurable: true,
    writable: true,
    enumerable: before?.enumerable ?? true,
    value,
  });
  return () => {
    if (before === undefined) Reflect.deleteProperty(target, key);
    else Object.defineProperty(target, key, before);
  };
}

/** Remembers a property, to put it back as it is now. @internal */
export function remember(target: object, key: PropertyKey): Undo {
  const before = Object.getOwnPropertyDescriptor(target, key);
  return () => {
    if (before === undefined) Reflect.deleteProperty(target, key);
    else Object.defineProperty(target, key, before);
  };
}

/** Undoes in reverse order. @internal */
export function undoAll(undos: Undo[]): void {
  for (let undo = undos.pop(); undo !== undefined; undo = undos.pop()) undo();
}

/** Opens something once however often it is asked for, and closes it when the last one who asked is done. @internal */
export function shared(open: () => Undo): () => Undo {
  let users = 0;
  let close: Undo | undefined;
  return () => {
    if (users++ === 0) close = open();
    let done = false;
    return () => {
      if (done) return;
      done = true;
      if (--users === 0) close?.();
    };
  };
}
