// print(1) by Pyodide, in the interpreter that is loaded: "NAME|best|median|p99" in µs, as bench/python.c prints its rows.
const { loadPyodide } = require("pyodide");

const rounds = Number(process.argv[2]);
loadPyodide({ stdout: () => {} }).then((python) => {
	const times = [];
	for (let round = -5; round < rounds; round++) {
		const start = process.hrtime.bigint();
		python.runPython("print(1)");
		if (round >= 0) times.push(Number(process.hrtime.bigint() - start) / 1000);
	}
	times.sort((a, b) => a - b);
	if (rounds > 0) console.log(["Pyodide, loaded, no isolation between programs", times[0], times[rounds >> 1], times[Math.floor(rounds * 0.99)]].join("|"));
});
