/** The parts of the page, by their names in index.html. */

export function find<T extends HTMLElement = HTMLElement>(id: string): T {
  return document.getElementById(id) as T;
}

/** Show a sentence, or hide its place when there is none. */
export function tell(id: string, text: string): void {
  const place = find(id);
  place.textContent = text;
  if (place.getAttribute("role") === "alert") place.hidden = !text;
}

export function clock(seconds: number): string {
  const whole = Math.floor(seconds);
  return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, "0")}`;
}
