/** Undoes a change. */
export type Undo = () => void;

/** Sets a property. The returned function restores exactly the previous state, or removes the property. @internal */
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

/** Saves a property. The returned function restores it. @internal */
export function remember(target: object, key: PropertyKey): Undo {
  const before = Object.getOwnPropertyDescriptor(target, key);
  return () => {
    if (before === undefined) Reflect.deleteProperty(target, key);
    else Object.defineProperty(target, key, before);
  };
}

/** Undoes changes in reverse order. @internal */
export function undoAll(undos: Undo[]): void {
  for (let undo = undos.pop(); undo !== undefined; undo = undos.pop()) undo();
}

/** Opens something once for all users, and closes it after the last one. @internal */
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
