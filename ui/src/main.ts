import { mount } from "svelte";
import App from "./App.svelte";
import { app } from "./state/app.svelte";
import sprite from "./styles/icons.svg?raw";
import "./styles/tokens.css";
import "./styles/app.css";
import "./styles/views.css";
import "./styles/window.css";
import "./styles/narrow.css";
import "./styles/forced.css";

// The icons as symbols in the page: parsed as a document, because the policy lets no markup carry scripts or styles.
const icons = new DOMParser().parseFromString(sprite, "image/svg+xml").documentElement;
document.body.prepend(document.importNode(icons, true));

// The words first: nothing is drawn in one language and then in another.
const target = document.getElementById("app");
if (target) void app.speak().then(() => mount(App, { target }));
