/* Where the theme fails a rule of axe-core: a dialog without a name, tables that a keyboard cannot scroll,
   the empty corner of a table as a heading, the button of each block of code as a landmark without a name. */
"use strict";

function mend() {
  document.querySelector("[data-md-component=search]")?.setAttribute("aria-label", "Search");
  document.querySelectorAll(".md-typeset__scrollwrap:not([tabindex])").forEach((table) => {
    table.tabIndex = 0;
  });
  document.querySelectorAll("th:empty").forEach((corner) => {
    corner.replaceWith(document.createElement("td"));
  });
  document.querySelectorAll(".md-code__nav").forEach((buttons) => {
    buttons.setAttribute("role", "none");
  });
}

new MutationObserver(mend).observe(document.body, { childList: true, subtree: true });
mend();
