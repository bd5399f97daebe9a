/** Scrolls to a section, leaving the address to the state. */
export function goTo(id: string, event?: Event): void {
  event?.preventDefault();
  const target = document.getElementById(id);
  if (target === null) return;
  const isCalm = matchMedia("(prefers-reduced-motion: reduce)").matches;
  target.scrollIntoView({ behavior: isCalm ? "auto" : "smooth", block: "start" });
  const heading = target.querySelector("h2");
  heading?.setAttribute("tabindex", "-1");
  heading?.focus({ preventScroll: true });
}
