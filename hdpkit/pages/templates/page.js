// Where the page is (its hash), light and dark, and the beginning.
function arrive() {
  const [, what, number] = /^#(topic|document|group)-(\d+)$/.exec(location.hash) || [];
  if (what === "topic") showTopic(Number(number), true);
  else if (what === "document") showDocument(Number(number));
  else if (what === "group" && byId("group-" + number)) byId("group-" + number).open = true;
}

const darkAsked = matchMedia("(prefers-color-scheme: dark)");

function kept() {
  try {
    return localStorage.getItem("hdpkit-theme");
  } catch {
    return null; // a browser that keeps nothing for files
  }
}

function setTheme(choice) {
  const root = document.documentElement;
  if (choice) root.dataset.theme = choice;
  else delete root.dataset.theme;
  charts.dark = choice ? choice === "dark" : darkAsked.matches;
  byId("theme").setAttribute("aria-pressed", String(charts.dark));
}

async function redraw() {
  await drawAll();
  if (page.topic) showTerms();
}

function readyTheme() {
  setTheme(kept());
  byId("theme").hidden = false;
  byId("theme").addEventListener("click", () => {
    const choice = charts.dark ? "light" : "dark";
    setTheme(choice);
    try {
      localStorage.setItem("hdpkit-theme", choice);
    } catch {
      // as above
    }
    redraw();
  });
  darkAsked.addEventListener("change", () => {
    setTheme(kept());
    redraw();
  });
}

/** Tell the list of sections where the reader is. */
function readySections() {
  const links = new Map([...document.querySelectorAll("nav a")].map((link) => [link.hash.slice(1), link]));
  const watch = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      for (const link of links.values()) link.removeAttribute("aria-current");
      links.get(entry.target.id).setAttribute("aria-current", "location");
    }
  }, { rootMargin: "-15% 0px -75% 0px" });
  for (const section of document.querySelectorAll("main > section")) watch.observe(section);
}

// What is closed on the screen is open on paper.
function openForPaper(open) {
  for (const details of document.querySelectorAll("main details")) {
    if (open && !details.open) details.dataset.closed = "";
    if (open || "closed" in details.dataset) details.open = open;
    if (!open) delete details.dataset.closed;
  }
}

readyTheme();
readyTopics();
readyDocuments();
readySearch();
readySections();
addEventListener("hashchange", arrive);
addEventListener("beforeprint", () => openForPaper(true));
addEventListener("afterprint", () => openForPaper(false));
drawAll().then(() => {
  if (page.data.topics && page.data.topics.length && !page.topic) showTopic(page.data.topics[0].number, false);
  arrive();
  document.documentElement.dataset.ready = "true";
});
