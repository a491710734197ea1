"use strict";
// Replaces the page's content every five seconds while it is visible; details that are open stay open.
const EVERY = 5000;
async function refresh() {
  if (document.hidden) return;
  const note = document.getElementById("refresh");
  try {
    const answer = await fetch("./", { cache: "no-store" });
    if (!answer.ok) throw new Error(String(answer.status));
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
    const open = [...document.querySelectorAll("details[open]")].map((each) => each.id);
    if (document.activeElement && document.querySelector("main").contains(document.activeElement)
        && document.activeElement.tagName !== "SUMMARY") return;
    const focused = document.activeElement?.closest("details")?.id;
    for (const id of open) fresh.getElementById(id)?.setAttribute("open", "");
    document.querySelector("main").replaceWith(document.adoptNode(fresh.querySelector("main")));
    document.querySelector("header").replaceWith(document.adoptNode(fresh.querySelector("header")));
    document.title = fresh.title;
    if (focused) document.getElementById(focused)?.querySelector("summary").focus({ preventScroll: true });
  } catch {
    if (note) note.textContent = "evictd does not answer; this is what it said last";
  }
}
setInterval(refresh, EVERY);
