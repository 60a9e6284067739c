// Durations, counts, sizes and times for people, as the saved pictures write them.

/** `12 ms`, `1.2 s`, `1 m 05 s`, `1 h 02 m`; empty where there is none. */
export function formatDuration(milliseconds) {
  if (typeof milliseconds !== "number" || !(milliseconds >= 0)) return "";
  const whole = Math.floor(milliseconds);
  if (whole < 1000) return `${whole} ms`;
  const tenths = Math.floor((whole + 50) / 100);
  if (tenths < 600) return `${Math.floor(tenths / 10)}.${tenths % 10} s`;
  const seconds = Math.floor((whole + 500) / 1000);
  if (seconds < 3600) return `${Math.floor(seconds / 60)} m ${String(seconds % 60).padStart(2, "0")} s`;
  const minutes = Math.floor((seconds + 30) / 60);
  return `${Math.floor(minutes / 60)} h ${String(minutes % 60).padStart(2, "0")} m`;
}

/** As `formatDuration`, for a clock that ticks: whole seconds, no milliseconds. */
export function formatClock(milliseconds) {
  const seconds = Math.max(0, Math.floor(milliseconds / 1000));
  return seconds < 60 ? `${seconds} s` : formatDuration(seconds * 1000);
}

/** `1 step`, `3 steps`, `1,200 steps`. */
export function pluralize(count, noun) {
  return `${count.toLocaleString("en-US")} ${noun}${count === 1 ? "" : "s"}`;
}

/** `900 B`, `1.2 kB`, `3.4 MB`. */
export function formatBytes(bytes) {
  if (typeof bytes !== "number") return "";
  if (bytes < 1000) return `${bytes} B`;
  const units = ["kB", "MB", "GB", "TB"];
  let size = bytes;
  let unit = -1;
  while (size >= 999.5 && unit < units.length - 1) {
    size /= 1000;
    unit += 1;
  }
  return `${size < 9.95 ? size.toFixed(1) : Math.round(size)} ${units[unit]}`;
}

/** A moment of the log in the reader's own time: the time of day, with the date where it is not today's. */
export function formatTimestamp(text) {
  const moment = new Date(text ?? NaN);
  if (Number.isNaN(moment.getTime())) return "";
  const isToday = moment.toDateString() === new Date().toDateString();
  const time = moment.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: "2-digit" });
  return isToday ? time : `${moment.toLocaleDateString([], { day: "numeric", month: "short" })} ${time}`;
}

/** A phrase as the words of a button. */
export function capitalize(words) {
  return words.charAt(0).toUpperCase() + words.slice(1);
}
