"use strict";
// Everything that comes from a corpus becomes a text node here, never markup.
const page = { data: JSON.parse(document.getElementById("data").textContent) };

/** Make an element; children are elements or texts. */
function element(name, properties = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (key === "class") made.className = value;
    else if (key === "share") made.style.setProperty("--share", value);
    else made.setAttribute(key, value);
  }
  made.append(...children.filter((child) => child !== null));
  return made;
}

/** A text of its own direction of writing. */
const bdi = (text) => element("bdi", {}, text);
const byId = (id) => document.getElementById(id);
const percent = (share, digits = 1) => (100 * share).toFixed(digits).replace(/^-(?=[0.]*$)/, "") + "%";
const nouns = page.data.nouns;
/** What a topic is called in a text: its name where topics have names, as signatures do, or its number. */
const topicName = (number) => page.data.named ? topicOf(number).label : nouns.topic + " " + number;
const topicLink = (number, text = null) =>
  element("a", { href: "#topic-" + number, class: "topic" },
    page.data.named ? null : element("span", { class: "number" }, String(number)), page.data.named || text === null ? null : " ", text === null ? null : bdi(text));
const titled = (noun) => noun[0].toUpperCase() + noun.slice(1);
const count = (number, one, many = one + "s") => number.toLocaleString("en") + " " + (number === 1 ? one : many);
