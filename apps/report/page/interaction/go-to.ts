/** What had the focus before it was taken elsewhere. */
let left: HTMLElement | undefined;

/** Scrolls to a section, leaving the address to the state. */
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

/** Gives the focus back to what it was taken from. */
export function comeBack(): void {
  left?.focus();
  left = undefined;
}
