import { createRoot } from "react-dom/client";
import { App } from "./app";
import "./styles";

const page = document.getElementById("page");
if (page) createRoot(page).render(<App />);
