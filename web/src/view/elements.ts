/** The parts of the page, by their names in index.html. */

const LOWEST_DB = -60;

export function find<T extends HTMLElement = HTMLElement>(id: string): T {
  return document.getElementById(id) as T;
}

/** Show a sentence, or hide its place when there is none. */
export function tell(id: string, text: string): void {
  const place = find(id);
  place.textContent = text;
  if (place.getAttribute("role") === "alert") place.hidden = !text;
}

/** Show a peak, of full scale one, on a meter of decibels. */
export function showLevel(id: string, peak: number): void {
  find<HTMLMeterElement>(id).value = Math.max(1 - (20 * Math.log10(peak + 1e-9)) / LOWEST_DB, 0);
}

export function clock(seconds: number): string {
  const whole = Math.floor(seconds);
  return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, "0")}`;
}
