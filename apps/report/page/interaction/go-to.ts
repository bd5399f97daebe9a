/** The element that had the focus before it was moved. */
let left: HTMLElement | undefined;

/** Scrolls to a section without changing the address. */
export function goTo(id: string, event?: Event): void {
  event?.preventDefault();
  const target = document.getElementById(id);
  if (target === null) return;
  left = document.activeElement as HTMLElement;
  const isCalm = matchMedia("(prefers-reduced-motion: reduce)").matches;
  target.scrollIntoView({ behavior: isCalm ? "auto" : "smooth", block: "start" });
  const heading = target.querySelector("h2");
  heading?.setAttribute("tabindex", "-1");
  heading?.focus({ preventScroll: true });
}

/** Returns the focus to its previous element. */
export function comeBack(): void {
  left?.focus();
  left = undefined;
}
