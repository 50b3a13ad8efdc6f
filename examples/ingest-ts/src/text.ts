/** Splits a text into pages of at most so many words; each keeps the text between its first word and its last. */
export function pagesOf(text: string, words: number): string[] {
	const pages: string[] = [];
	const found = [...text.matchAll(/\S+/g)];
	for (let first = 0; first < found.length; first += words) {
		const last = found[Math.min(first + words, found.length) - 1]!;
		pages.push(text.slice(found[first]!.index, last.index + last[0].length));
	}
	return pages;
}

export function countWords(text: string): number {
	return text.match(/\S+/g)?.length ?? 0;
}

/** What a title is published under. */
export function slug(title: string): string {
	return title.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "");
}

const ENTITIES: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };

/** A page as HTML, with its lines. */
export function toHTML(page: string): string {
	return `<p>${page.replace(/[&<>"]/g, (letter) => ENTITIES[letter]!).replaceAll("\n", "<br>\n")}</p>`;
}
